// Tests how the channel hears of deaths from a launcher by PMIx. The test plays the PMIx library.
#include "comm-channel/bootstrap/pmix_deaths.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

namespace scela::channel::deaths_test {
namespace {

struct Registered {
  std::vector<pmix_status_t> codes;
  pmix_notification_fn_t handler = nullptr;
};
Registered registered;
pmix_status_t answer = PMIX_SUCCESS;

pmix_status_t take(pmix_status_t* codes, std::size_t count, pmix_info_t*, std::size_t,
                   pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t, void*) {
  registered = {std::vector<pmix_status_t>(codes, codes + count), handler};
  return answer;
}

PmixLibrary library_that_takes() {
  PmixLibrary library;
  library.PMIx_Register_event_handler = take;
  return library;
}

pmix_proc_t proc(const char* name_space, pmix_rank_t rank) {
  pmix_proc_t made{};
  std::strncpy(made.nspace, name_space, PMIX_MAX_NSLEN);
  made.rank = rank;
  return made;
}

int passed_on = 0;

void tell(pmix_status_t status, const pmix_proc_t& source, pmix_info_t* info = nullptr) {
  registered.handler(
      0, status, &source, info, info == nullptr ? 0 : 1, nullptr, 0,
      [](pmix_status_t, pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*, void*) { ++passed_on; },
      nullptr);
}

void tell_of(pmix_status_t status, const pmix_proc_t& source, pmix_proc_t affected) {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_EVENT_AFFECTED_PROC, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_PROC;
  info.value.data.proc = &affected;
  tell(status, source, &info);
}

void tell_of_all(pmix_status_t status, const pmix_proc_t& source,
                 std::vector<pmix_proc_t> affected) {
  pmix_data_array_t array{PMIX_PROC, affected.size(), affected.data()};
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_EVENT_AFFECTED_PROCS, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_DATA_ARRAY;
  info.value.data.darray = &array;
  tell(status, source, &info);
}

}  // namespace

TEST_CASE("channel deaths: news of PMIx about ranks of this job count, by event and by query") {
  CHECK(listen_for_deaths(library_that_takes(), "job"));
  REQUIRE(registered.handler != nullptr);

  const pmix_proc_t server = proc("server", 0);
  tell_of(PMIX_ERR_PROC_ABORTED, server, proc("job", 2));
  CHECK(is_told_dead(2));
  tell(PMIX_PROC_TERMINATED, proc("job", 3));
  CHECK(is_told_dead(3));
  tell_of(PMIX_ERR_PROC_ABORTED, server, proc("another", 4));
  CHECK_FALSE(is_told_dead(4));
  // A process that reports another's death is alive. So is a process that is reported for another
  // reason.
  tell_of(PMIX_ERR_PROC_ABORTED, proc("job", 1), proc("job", 5));
  CHECK(is_told_dead(5));
  CHECK_FALSE(is_told_dead(1));
  tell(PMIX_SUCCESS, proc("job", 1));
  CHECK_FALSE(is_told_dead(1));
  CHECK_FALSE(is_told_dead(0));
  // The program's other handlers get each event too.
  CHECK(passed_on == 5);
}

TEST_CASE("channel deaths: PMIx is asked for deaths by name, since servers tell no other handler") {
  CHECK(listen_for_deaths(library_that_takes(), "asked"));
  for (const pmix_status_t code :
       {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_EVENT_PROC_TERMINATED,
        PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_EXIT_NONZERO_TERM})
    CHECK(std::ranges::count(registered.codes, code) == 1);
  answer = PMIX_ERR_NOT_SUPPORTED;
  CHECK_FALSE(listen_for_deaths(library_that_takes(), "asked"));
  answer = PMIX_SUCCESS;
}

TEST_CASE("channel deaths: an event of PMIx that names many counts for each") {
  CHECK(listen_for_deaths(library_that_takes(), "many"));
  std::vector<pmix_proc_t> all;
  for (const pmix_rank_t rank : {100u, 102u, 103u, 199u})
    all.push_back(proc("many", rank));
  all.push_back(proc("another", 101));
  tell_of_all(PMIX_ERR_PROC_ABORTED, proc("many", 105), all);
  for (const int rank : {100, 102, 103, 199})
    CHECK(is_told_dead(rank));
  for (const int rank : {101, 105})
    CHECK_FALSE(is_told_dead(rank));
}

}  // namespace scela::channel::deaths_test
