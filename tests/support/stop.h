// Stops a child process. The child runs no more when stop() returns.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace scela::test {

inline void stop(pid_t child) {
  REQUIRE(::kill(child, SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
}

}  // namespace scela::test
