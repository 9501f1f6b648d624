#include "common/os/process/reaper.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/support/eventually.h"
#include "tests/unit/common/os/child_run.h"

namespace reaper_test {

using namespace scela;
using namespace scela::test;

namespace {

bool readable(int fd, int timeout_ms) {
  pollfd asked{fd, POLLIN, 0};
  return ::poll(&asked, 1, timeout_ms) == 1;
}

}  // namespace

TEST_CASE("every child that ended is told once, with its own status") {
  Result<Reaper> reaper = Reaper::create();
  REQUIRE(reaper);
  CHECK_FALSE(readable(reaper->descriptor(), 0));
  std::map<pid_t, int> expected;
  // Children that end together may raise only one signal. The reaper must not miss any of them.
  for (int code = 1; code <= 8; ++code) {
    Command command({"/bin/sh", "-c", cat("exit ", code)});
    const auto pid = start_child(command.spec);
    REQUIRE(pid);
    expected[*pid] = code;
  }
  Command killed(sleeper());
  const auto pid = start_child(killed.spec);
  REQUIRE(pid);
  ::kill(*pid, SIGKILL);
  expected[*pid] = -SIGKILL;

  std::map<pid_t, int> told;
  while (told.size() < expected.size()) {
    REQUIRE(readable(reaper->descriptor(), static_cast<int>(kFailureGuardMs)));
    reaper->clear();
    reaper->reap(
        [&](pid_t child, int status, const rusage&) {
          CHECK(told.emplace(child, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status))
                    .second);
        },
        [](pid_t) { FAIL("no child was stopped"); });
  }
  CHECK(told == expected);
  reaper->clear();
  CHECK_FALSE(readable(reaper->descriptor(), 0));
}

TEST_CASE("a child that a signal stops is told of, and has not ended") {
  auto reaper = Reaper::create();
  REQUIRE(reaper);
  Command command(sleeper());
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  std::vector<pid_t> ended, stopped;
  const auto until = [&](const std::vector<pid_t>& told) {
    while (told.empty()) {
      REQUIRE(readable(reaper->descriptor(), static_cast<int>(kFailureGuardMs)));
      reaper->clear();
      reaper->reap([&](pid_t child, int, const rusage&) { ended.push_back(child); },
                   [&](pid_t child) { stopped.push_back(child); });
    }
  };
  ::kill(*pid, SIGSTOP);
  until(stopped);
  CHECK(stopped == std::vector<pid_t>{*pid});
  CHECK(ended.empty());
  ::kill(*pid, SIGKILL);
  until(ended);
  CHECK(ended == std::vector<pid_t>{*pid});
}

}  // namespace reaper_test
