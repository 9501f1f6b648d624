#include "comm-channel/bootstrap/pmix_deaths.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

namespace scela::channel {

namespace {

struct Deaths {
  std::atomic<std::size_t> count{0};
  std::mutex mutex;  // guards what follows
  std::string name_space;
  std::vector<pmix_rank_t> ranks;
  bool is_listening = false;
};

Deaths& deaths() {
  static Deaths* const kept = new Deaths;  // events may come until the end
  return *kept;
}

// The statuses by which launchers report a death, which differ. They are asked for by name, since a
// server does not send everything to a handler: that of an MPI would end its process.
constexpr pmix_status_t kDeaths[] = {
    PMIX_PROC_TERMINATED,         PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_EVENT_PROC_TERMINATED,
    PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_EXIT_NONZERO_TERM,
#ifdef PMIX_ERR_PROC_ABORTED
    PMIX_ERR_PROC_ABORTED,
#endif
#ifdef PMIX_ERR_PROC_ABORTING
    PMIX_ERR_PROC_ABORTING,
#endif
};

bool is_a_death(pmix_status_t status) {
  return std::ranges::find(kDeaths, status) != std::end(kDeaths);
}

void note(const pmix_proc_t& who) {
  Deaths& all = deaths();
  const std::lock_guard lock(all.mutex);
  if (all.name_space != who.nspace || who.rank > PMIX_RANK_VALID) return;
  if (std::ranges::find(all.ranks, who.rank) != all.ranks.end()) return;
  all.ranks.push_back(who.rank);
  all.count.store(all.ranks.size(), std::memory_order_release);
}

// Notes the ranks if the attribute names those that the event is about. Returns false if it does
// not.
bool note_named(const pmix_info_t& info) {
  const auto is = [&](const char* key) {
    return std::strncmp(info.key, key, PMIX_MAX_KEYLEN) == 0;
  };
  const pmix_value_t& value = info.value;
  if (is(PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC && value.data.proc != nullptr) {
    note(*value.data.proc);
    return true;
  }
  if (!is(PMIX_EVENT_AFFECTED_PROCS) || value.type != PMIX_DATA_ARRAY ||
      value.data.darray == nullptr || value.data.darray->type != PMIX_PROC ||
      value.data.darray->array == nullptr)
    return false;
  const auto* procs = static_cast<const pmix_proc_t*>(value.data.darray->array);
  for (std::size_t i = 0; i < value.data.darray->size; ++i)
    note(procs[i]);
  return true;
}

// Some launchers name the dead rank as the source, and some by an attribute; then the source is the
// reporter.
void told(std::size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t* infos,
          std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t next,
          void* data) {
  if (is_a_death(status)) {
    bool named = false;
    for (std::size_t i = 0; i < count; ++i)
      named = note_named(infos[i]) || named;
    if (!named && source != nullptr) note(*source);
  }
  if (next != nullptr) next(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

bool listen_for_deaths(const PmixLibrary& library, const std::string& name_space) {
  {
    const std::lock_guard lock(deaths().mutex);
    deaths().name_space = name_space;
  }
  pmix_status_t codes[std::size(kDeaths)];
  std::ranges::copy(kDeaths, codes);
  // The call returns the handler's number, or the reason why there is none.
  const bool listens = library.PMIx_Register_event_handler(codes, std::size(codes), nullptr, 0,
                                                           told, nullptr, nullptr) >= 0;
  const std::lock_guard lock(deaths().mutex);
  deaths().is_listening = listens;
  return listens;
}

bool is_listening_for_deaths() {
  const std::lock_guard lock(deaths().mutex);
  return deaths().is_listening;
}

bool is_told_dead(int rank) {
  Deaths& all = deaths();
  if (all.count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(all.mutex);
  return std::ranges::find(all.ranks, static_cast<pmix_rank_t>(rank)) != all.ranks.end();
}

}  // namespace scela::channel
