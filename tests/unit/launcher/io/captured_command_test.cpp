// Tests the end of a command.
#include "launcher/io/captured_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "common/os/process/child.h"
#include "common/os/syscall.h"

namespace captured_command_test {

using namespace scela;

namespace {

// Reads up to the end of the file, or one line.
std::string read_text(int fd, bool one_line) {
  std::string out;
  for (char one = 0; retry([&] { return ::read(fd, &one, 1); }) == 1;) {
    out += one;
    if (one_line && one == '\n') break;
  }
  return out;
}

}  // namespace

TEST_CASE("kill sends nothing to a group of which another part has reaped the leader") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  // The member of the group that the leader leaves behind stands for a group of the same number.
  const char* const script =
      "(trap 'echo heard TERM; exit' TERM; echo up; while :; do sleep 1000 & wait; done) &";
  CommandSpec spec{{"/bin/sh", "-c", script}, process_environment(), pipe->read.get(), false};
  spec.output = pipe->write.get();
  auto command = CapturedCommand::start(std::move(spec));
  REQUIRE(command);
  pipe->write.reset();
  CHECK(read_text(pipe->read.get(), true) == "up\n");
  const pid_t pid = command->pid();
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  command->kill();
  CHECK(::kill(-pid, SIGTERM) == 0);
  CHECK(read_text(pipe->read.get(), false) == "heard TERM\n");
}

}  // namespace captured_command_test
