#include "comm-channel/bootstrap/pmix_leavers.h"

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace scela::channel {

namespace {

enum class Known : unsigned char { asked, not_yet, left };

struct Leavers {
  std::mutex mutex;
  std::map<std::pair<std::string, pmix_rank_t>, Known> known;
};

Leavers& leavers() {
  static Leavers* const kept = new Leavers;  // answers may come until the end
  return *kept;
}

// libpmix does not copy the query, so it must exist until the answer.
struct Question {
  explicit Question(const pmix_proc_t& rank) : about(rank) {
    std::strncpy(key, PMIX_PROC_STATE_STATUS, sizeof key - 1);
    std::strncpy(qualifiers[0].key, PMIX_PROCID, PMIX_MAX_KEYLEN);
    qualifiers[0].value.type = PMIX_PROC;
    qualifiers[0].value.data.proc = &about;
    // Without this, libpmix would return the first answer again.
    std::strncpy(qualifiers[1].key, PMIX_QUERY_REFRESH_CACHE, PMIX_MAX_KEYLEN);
    qualifiers[1].value.type = PMIX_BOOL;
    qualifiers[1].value.data.flag = true;
    query.keys = keys;
    query.qualifiers = qualifiers;
    query.nqual = std::size(qualifiers);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  pmix_proc_t about;
  char key[PMIX_MAX_KEYLEN + 1] = {};
  char* keys[2] = {key, nullptr};
  pmix_info_t qualifiers[2] = {};
  pmix_query_t query = {};
};

void note(const pmix_proc_t& rank, bool has_left) {
  const std::lock_guard lock(leavers().mutex);
  leavers().known[{rank.nspace, rank.rank}] = has_left ? Known::left : Known::not_yet;
}

bool has_ended(pmix_status_t status, const pmix_info_t* infos, std::size_t count) {
  for (std::size_t i = 0; status == PMIX_SUCCESS && i < count; ++i)
    if (std::strncmp(infos[i].key, PMIX_PROC_STATE_STATUS, PMIX_MAX_KEYLEN) == 0 &&
        infos[i].value.type == PMIX_PROC_STATE)
      return infos[i].value.data.state > PMIX_PROC_STATE_UNTERMINATED;
  return false;
}

void answered(pmix_status_t status, pmix_info_t* infos, std::size_t count, void* data,
              pmix_release_cbfunc_t release, void* released) {
  const std::unique_ptr<Question> question(static_cast<Question*>(data));
  note(question->about, has_ended(status, infos, count));
  if (release != nullptr) release(released);
}

}  // namespace

bool has_left_by_now(const PmixLibrary& library, const pmix_proc_t& rank) {
  {
    const std::lock_guard lock(leavers().mutex);
    Known& known =
        leavers().known.try_emplace({rank.nspace, rank.rank}, Known::not_yet).first->second;
    if (known != Known::not_yet) return known == Known::left;
    known = Known::asked;
  }
  auto question = std::make_unique<Question>(rank);
  if (library.PMIx_Query_info_nb(&question->query, 1, answered, question.get()) == PMIX_SUCCESS)
    static_cast<void>(question.release());  // answered() has it
  else
    note(rank, false);
  return false;
}

}  // namespace scela::channel
