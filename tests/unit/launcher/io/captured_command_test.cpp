// Tests the end of a command.
#include "launcher/io/captured_command.h"

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

std::string read_all(int fd) {
  std::string out;
  for (char one = 0; retry([&] { return ::read(fd, &one, 1); }) == 1;)
    out += one;
  return out;
}

}  // namespace

TEST_CASE("kill sends nothing to a group of which another part has reaped the leader") {
  auto input = make_pipe(), output = make_pipe();
  REQUIRE(input);
  REQUIRE(output);
  // The member of the group that the leader leaves behind stands for a group of the same number.
  CommandSpec spec{
      {"/bin/sh", "-c", "exec 3<&0; cat <&3 &"}, process_environment(), input->read.get(), false};
  spec.output = output->write.get();
  auto command = CapturedCommand::start(std::move(spec));
  REQUIRE(command);
  input->read.reset();
  output->write.reset();
  const pid_t pid = command->pid();
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  command->kill();
  // A member that has got SIGKILL reads and writes nothing.
  CHECK(::write(input->write.get(), "alive\n", 6) == 6);
  input->write.reset();
  CHECK(read_all(output->read.get()) == "alive\n");
}

}  // namespace captured_command_test
