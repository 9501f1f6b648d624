// What a launcher tells of deaths by PMIx, as a library says it that a test plays.
#include "comm-channel/bootstrap/pmix_deaths.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>

namespace scela::channel::deaths_test {
namespace {

struct Registered {
  const pmix_status_t* codes = nullptr;
  std::size_t code_count = 77;
  pmix_notification_fn_t handler = nullptr;
};
Registered registered;

pmix_status_t take(pmix_status_t* codes, std::size_t count, pmix_info_t*, std::size_t,
                   pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t, void*) {
  registered = {codes, count, handler};
  return PMIX_SUCCESS;
}

pmix_proc_t proc(const char* name_space, pmix_rank_t rank) {
  pmix_proc_t made{};
  std::strncpy(made.nspace, name_space, PMIX_MAX_NSLEN);
  made.rank = rank;
  return made;
}

int passed_on = 0;

void tell(pmix_status_t status, const pmix_proc_t& source, pmix_proc_t* affected = nullptr) {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_EVENT_AFFECTED_PROC, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_PROC;
  info.value.data.proc = affected;
  registered.handler(
      0, status, &source, &info, affected == nullptr ? 0 : 1, nullptr, 0,
      [](pmix_status_t, pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*, void*) { ++passed_on; },
      nullptr);
}

}  // namespace

TEST_CASE("channel deaths: what PMIx tells of ranks of this job counts, whichever way it does") {
  PmixLibrary library;
  library.PMIx_Register_event_handler = take;
  listen_for_deaths(library, "job");
  // For all events: launchers differ in which they use.
  REQUIRE(registered.handler != nullptr);
  CHECK(registered.codes == nullptr);
  CHECK(registered.code_count == 0);

  const pmix_proc_t server = proc("server", 0);
  pmix_proc_t second = proc("job", 2), stranger = proc("another", 4);
  tell(PMIX_ERR_PROC_ABORTED, server, &second);
  CHECK(is_told_dead(2));
  tell(PMIX_PROC_TERMINATED, proc("job", 3));
  CHECK(is_told_dead(3));
  tell(PMIX_ERR_PROC_ABORTED, server, &stranger);
  CHECK_FALSE(is_told_dead(4));
  // Who tells of another's death lives, and so does who is told of otherwise.
  pmix_proc_t fifth = proc("job", 5);
  tell(PMIX_ERR_PROC_ABORTED, proc("job", 1), &fifth);
  CHECK(is_told_dead(5));
  CHECK_FALSE(is_told_dead(1));
  tell(PMIX_SUCCESS, proc("job", 1));
  CHECK_FALSE(is_told_dead(1));
  CHECK_FALSE(is_told_dead(0));
  // Other handlers of the program hear of each.
  CHECK(passed_on == 5);
}

}  // namespace scela::channel::deaths_test
