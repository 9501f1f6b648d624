// Tests the command of nla/core/tree/remote_shell.h under every shell of this machine that may be a
// user's login shell, with scripts in the agent's place.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "nla/core/tree/remote_shell.h"
#include "tests/support/temporary_home.h"

namespace login_shells_test {

using namespace scela;
using namespace scela::nla;

namespace {

struct Said {
  std::string text;
  int status = 0;
};

// Returns what the command says under a shell, without input. The command keeps its temporary files
// in `place`.
Said run(const std::string& shell, const std::string& command, const std::string& place) {
  REQUIRE(::setenv("COMMAND", command.c_str(), 1) == 0);
  const std::string line = cat("HOME='", place, "' TMPDIR='", place, "' exec '", shell,
                               "' -c \"$COMMAND\" < /dev/null 2> /dev/null");
  FILE* stream = ::popen(line.c_str(), "r");
  ::unsetenv("COMMAND");
  REQUIRE(stream != nullptr);
  Said said;
  char piece[512];
  while (::fgets(piece, sizeof piece, stream) != nullptr)
    said.text += piece;
  said.status = ::pclose(stream);
  return said;
}

bool asks_for_the_agent(const Said& said) {
  return said.text.starts_with("\nSCELA-NLA ship ");
}

}  // namespace

TEST_CASE("every login shell starts an agent that is there, or asks for it") {
  const test::TemporaryHome home;
  const auto place = [&](const std::string& name, const std::string& text, bool executable) {
    home.write(name, text);
    if (executable) {
      std::filesystem::permissions(home.path(name), std::filesystem::perms::owner_all);
    }
    return home.path(name);
  };
  const std::string good = place("an agent", "#!/bin/sh\necho \"$#\" \"$@\"\nexit 7\n", true);
  const std::string plain = place("plain", "", false);
  const std::string broken = place("broken", "#!/no/such/interpreter\n", true);
  const char* path = ::getenv("PATH");
  // The last four are not among scripts/packages: they are tried where they are installed.
  const std::set<std::string> optional = {"zsh", "mksh", "ksh93", "yash"};
  for (const char* name :
       {"sh", "dash", "bash", "csh", "tcsh", "fish", "zsh", "mksh", "ksh93", "yash"}) {
    INFO(name);
    const auto shell = find_program(name, path == nullptr ? "/usr/bin:/bin" : path, ".");
    if (!shell && optional.contains(name)) continue;
    REQUIRE(shell);
    const auto under = [&](const std::string& agent) {
      const auto command = remote_command({agent,
                                           "abc123",
                                           {4096, "def456", "5ha", "b1a"},
                                           true,
                                           true,
                                           "T0ken",
                                           {"--job", "a=b,%c:+@ d"}},
                                          "me@[fd00::1]:22");
      REQUIRE(command);
      return run(*shell, *command, home.path());
    };
    const Said started = under(good);
    CHECK(started.text == "7 --stdio --name me@[fd00::1]:22 --id abc123 --job a=b,%c:+@ d\n");
    CHECK(WEXITSTATUS(started.status) == 7);
    CHECK(asks_for_the_agent(under(home.path("nothing"))));
    CHECK(asks_for_the_agent(under(plain)));
    CHECK(asks_for_the_agent(under("")));
    const Said refused = under(broken);
    CHECK((asks_for_the_agent(refused) || (refused.text.empty() && refused.status != 0)));
  }
}

}  // namespace login_shells_test
