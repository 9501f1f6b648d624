// Tests how a process joins and leaves its job by PMIx. The test plays the PMIx library.
#include "comm-channel/bootstrap/pmix_session.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/core/requests/pmix_directives.h"

namespace scela::channel::session_test {
namespace {

struct Played {
  int references = 0;  // PMIx_Init without PMIx_Finalize
  int closed = 0;      // times that the connection has ended
  std::vector<std::string> directives;
  pmix_status_t joined = PMIX_SUCCESS;
  pmix_status_t controlled = PMIX_SUCCESS;
};
Played played;

int initialized() {
  return played.references;
}

pmix_status_t init(pmix_proc_t* self, pmix_info_t*, std::size_t) {
  if (played.joined != PMIX_SUCCESS) return played.joined;
  ++played.references;
  std::strncpy(self->nspace, "job", PMIX_MAX_NSLEN);
  self->rank = 2;
  return PMIX_SUCCESS;
}

pmix_status_t finalize(const pmix_info_t*, std::size_t) {
  if (--played.references == 0) ++played.closed;
  return PMIX_SUCCESS;
}

pmix_status_t control(const pmix_proc_t*, std::size_t targets, const pmix_info_t* infos,
                      std::size_t count, pmix_info_t**, std::size_t*) {
  REQUIRE(targets == 0);
  REQUIRE(count == 1);
  REQUIRE(infos[0].value.type == PMIX_BOOL);
  played.directives.push_back(infos[0].key);
  return played.controlled;
}

PmixLibrary library() {
  played = {};
  PmixLibrary made;
  made.PMIx_Initialized = initialized;
  made.PMIx_Init = init;
  made.PMIx_Finalize = finalize;
  made.PMIx_Job_control = control;
  return made;
}

// Sets the variable by which the launcher tells its ranks the name of the job.
class JobId {
 public:
  explicit JobId(const char* name) { ::setenv("SCELA_JOB_ID", name, 1); }
  JobId(const JobId&) = delete;
  JobId& operator=(const JobId&) = delete;
  ~JobId() { ::unsetenv("SCELA_JOB_ID"); }
};

}  // namespace

TEST_CASE("channel PMIx session: a process that joins its job again stays connected meanwhile") {
  const JobId job("job");
  const PmixLibrary pmix = library();
  PmixSession session(pmix);
  pmix_proc_t self{};
  REQUIRE(session.join(self) == PMIX_SUCCESS);
  CHECK(self.rank == 2);
  CHECK(session.joins() == 1);
  CHECK_FALSE(session.is_rejoined());
  CHECK(played.directives.empty());
  REQUIRE(session.leave() == PMIX_SUCCESS);
  CHECK(played.directives == std::vector<std::string>{kPmixLeaveJob});
  for (std::size_t again = 2; again <= 5; ++again) {
    played.directives.clear();
    REQUIRE(session.join(self) == PMIX_SUCCESS);
    CHECK(session.joins() == again);
    CHECK(session.is_rejoined());
    CHECK(played.directives == std::vector<std::string>{kPmixRejoinJob});
    REQUIRE(session.leave() == PMIX_SUCCESS);
    CHECK(played.directives == std::vector<std::string>{kPmixRejoinJob, kPmixLeaveJob});
    CHECK(played.references == 1);
  }
  CHECK(played.closed == 0);
}

TEST_CASE("channel PMIx session: another launcher's server is told by PMIx_Finalize alone") {
  const JobId job("another");
  const PmixLibrary pmix = library();
  PmixSession session(pmix);
  pmix_proc_t self{};
  for (int again = 1; again <= 3; ++again) {
    REQUIRE(session.join(self) == PMIX_SUCCESS);
    CHECK_FALSE(session.is_rejoined());
    REQUIRE(session.leave() == PMIX_SUCCESS);
    CHECK(played.closed == again);
  }
  CHECK(played.directives.empty());
}

TEST_CASE("channel PMIx session: the connection of another library of the process is left to it") {
  const JobId job("job");
  const PmixLibrary pmix = library();
  PmixSession session(pmix);
  pmix_proc_t self{};
  played.references = 1;  // an MPI library has called PMIx_Init
  REQUIRE(session.join(self) == PMIX_SUCCESS);
  REQUIRE(session.leave() == PMIX_SUCCESS);
  CHECK(played.references == 1);
  CHECK(played.directives.empty());
}

TEST_CASE("channel PMIx session: a join that fails can be tried again") {
  const JobId job("job");
  const PmixLibrary pmix = library();
  PmixSession session(pmix);
  pmix_proc_t self{};
  played.joined = PMIX_ERR_UNREACH;
  CHECK(session.join(self) == PMIX_ERR_UNREACH);
  CHECK(session.joins() == 0);
  played.joined = PMIX_SUCCESS;
  REQUIRE(session.join(self) == PMIX_SUCCESS);
  REQUIRE(session.leave() == PMIX_SUCCESS);
  played.controlled = PMIX_ERR_LOST_CONNECTION;
  CHECK(session.join(self) == PMIX_ERR_LOST_CONNECTION);
  CHECK(session.joins() == 1);
  CHECK(played.references == 1);
}

}  // namespace scela::channel::session_test
