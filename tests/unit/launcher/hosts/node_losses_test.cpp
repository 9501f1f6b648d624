// Tests how scela-pmix is started and ended, with a script in its place. The lines that it writes
// are tested with a PMIx server in tests/e2e/run/schedulers/test_resource_manager.py.
#include "launcher/hosts/node_losses.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "common/core/text.h"
#include "common/os/process/process_tree.h"
#include "tests/support/temporary_home.h"

namespace node_losses_test {

using namespace scela;
using test::TemporaryHome;

namespace {

constexpr std::chrono::seconds kPatience{30};

// Runs a shell script as scela-pmix. Returns what it has told as the allocation.
Result<std::string> ask(const TemporaryHome& home, const std::string& script,
                        std::optional<LossTool>& tool) {
  home.write("tool", script);
  return ask_and_listen({"/bin/sh", home.path("tool")}, process_environment(), kPatience, tool);
}

bool is_child(pid_t pid) {
  const auto children = children_of(::getpid());
  return std::ranges::find(children, pid) != children.end();
}

}  // namespace

TEST_CASE("an allocation that is larger than a pipe arrives whole") {
  const TemporaryHome home;
  const std::string text = cat(std::string(std::size_t{1} << 20, 'x'), "\nend\n");
  home.write("allocation", text);
  // dd gives up if the pipe is full and does not block.
  const std::string script =
      cat("dd if='", home.path("allocation"), "' bs=2M status=none || exit 74\nexec sleep 1000\n");
  std::optional<LossTool> tool;
  const auto told = ask(home, script, tool);
  REQUIRE(told);
  CHECK(*told == text);
  CHECK(tool);
}

TEST_CASE("the end of an allocation is found wherever pieces of the pipe end") {
  const TemporaryHome home;
  const std::size_t before = GENERATE(0u, 1u, 4090u, 4091u, 4092u, 4093u, 4094u, 4095u, 4096u);
  const std::string text = cat(std::string(before, 'x'), "\nend\n");
  home.write("allocation", cat(text, "listening\n"));
  std::optional<LossTool> tool;
  const auto told = ask(home, cat("cat '", home.path("allocation"), "'\nexec sleep 1000\n"), tool);
  REQUIRE(told);
  CHECK(*told == text);
}

TEST_CASE("a scela-pmix that is not wanted any more is ended, even if it ignores its reader") {
  const TemporaryHome home;
  std::optional<LossTool> tool;
  REQUIRE(ask(home, "trap '' PIPE TERM HUP\nprintf 'hosts\\nend\\n'\nexec sleep 1000\n", tool));
  REQUIRE(tool);
  const pid_t pid = tool->command->pid();
  CHECK(is_child(pid));
  SECTION("it is dropped") {
    tool.reset();
  }
  SECTION("its place is taken") {
    tool = std::optional<LossTool>();
  }
  SECTION("it has been moved before") {
    std::optional<LossTool> other = std::move(tool);
    tool.reset();
    CHECK(is_child(pid));
    other.reset();
  }
  CHECK_FALSE(is_child(pid));
}

}  // namespace node_losses_test
