// Tests how the channel asks PMIx if a rank has ended well. The test plays the PMIx library.
#include "comm-channel/bootstrap/pmix_leavers.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace scela::channel::leavers_test {
namespace {

pmix_proc_t proc(pmix_rank_t rank) {
  pmix_proc_t made{};
  std::strncpy(made.nspace, "leavers", PMIX_MAX_NSLEN);
  made.rank = rank;
  return made;
}

struct Asked {
  int times = 0;
  bool refreshes = false;
  pmix_proc_t about{};
  std::string key;
  pmix_info_cbfunc_t then = nullptr;
  void* data = nullptr;
};
Asked asked;
pmix_status_t taken = PMIX_SUCCESS;

pmix_status_t ask(pmix_query_t* query, std::size_t count, pmix_info_cbfunc_t then, void* data) {
  REQUIRE(count == 1);
  ++asked.times;
  asked.key = query->keys[0];
  asked.then = then;
  asked.data = data;
  asked.refreshes = false;
  for (std::size_t i = 0; i < query->nqual; ++i) {
    const pmix_info_t& one = query->qualifiers[i];
    if (std::strcmp(one.key, PMIX_PROCID) == 0) asked.about = *one.value.data.proc;
    if (std::strcmp(one.key, PMIX_QUERY_REFRESH_CACHE) == 0) asked.refreshes = one.value.data.flag;
  }
  return taken;
}

int released = 0;

void answer(pmix_status_t status, pmix_proc_state_t state) {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_PROC_STATE_STATUS, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_PROC_STATE;
  info.value.data.state = state;
  asked.then(
      status, &info, 1, asked.data, [](void*) { ++released; }, nullptr);
}

}  // namespace

TEST_CASE("channel deaths: PMIx is asked whether a rank has ended well, and not waited for") {
  PmixLibrary library;
  library.PMIx_Query_info_nb = ask;
  asked = {};
  const pmix_proc_t rank = proc(3);
  CHECK_FALSE(has_left_by_now(library, rank));
  CHECK(asked.times == 1);
  CHECK(asked.key == PMIX_PROC_STATE_STATUS);
  CHECK(asked.about.rank == 3);
  CHECK(std::string(asked.about.nspace) == "leavers");
  // Without a refresh the first answer would come again and again.
  CHECK(asked.refreshes);
  // The channel asks one question at a time.
  CHECK_FALSE(has_left_by_now(library, rank));
  CHECK(asked.times == 1);
  for (const auto& [status, state] : {std::pair{PMIX_SUCCESS, PMIX_PROC_STATE_CONNECTED},
                                      std::pair{PMIX_ERR_TIMEOUT, PMIX_PROC_STATE_TERMINATED}}) {
    answer(status, static_cast<pmix_proc_state_t>(state));
    CHECK_FALSE(has_left_by_now(library, rank));
  }
  CHECK(asked.times == 3);
  answer(PMIX_SUCCESS, PMIX_PROC_STATE_TERMINATED);
  CHECK(released == 3);
  CHECK(has_left_by_now(library, rank));
  CHECK(asked.times == 3);
  // If a server refuses the question, the channel asks again.
  taken = PMIX_ERR_NOT_SUPPORTED;
  CHECK_FALSE(has_left_by_now(library, proc(4)));
  CHECK_FALSE(has_left_by_now(library, proc(4)));
  CHECK(asked.times == 5);
  taken = PMIX_SUCCESS;
}

}  // namespace scela::channel::leavers_test
