#include "launcher/core/options/command_words.h"

#include <catch2/catch.hpp>

namespace command_words_test {

using namespace scela;

TEST_CASE("one word that no program's name can be goes to the shell") {
  for (const char* text : {"hostname; uptime", "uname -r", "cd /tmp", "FOO=1 env", "echo $HOME",
                           "ls|wc", "ls>x", "~/bin/tool", "echo 'a'", "a\tb", "a\nb", "ls *"}) {
    INFO(text);
    CHECK(is_for_shell({text}));
  }
  for (const char* name :
       {"hostname", "./a.out", "/usr/bin/env", "g++", "a-b_c.d", "x%y", "c#", "a=b"}) {
    INFO(name);
    CHECK_FALSE(is_for_shell({name}));
  }
}

TEST_CASE("several words are a program and its arguments, whatever is in them") {
  CHECK_FALSE(is_for_shell({"echo", "a b; c"}));
  CHECK_FALSE(is_for_shell({"a b", "c"}));
  CHECK_FALSE(is_for_shell({}));
  CHECK_FALSE(is_for_shell({""}));
}

TEST_CASE("a word with brackets, a comma or a user is a host for sure") {
  for (const char* host : {"n[1-4]", "a,b", "root@a"})
    CHECK(is_surely_host(host));
  for (const char* word : {"hostname", "./a[1]", "dir/a,b", "[", "a,,!"})
    CHECK_FALSE(is_surely_host(word));
}

TEST_CASE("a program that is not found may be a host, or a command of the shell") {
  CHECK(hint_for_unknown_program({"b", "uptime"}, "a", true, CommandUse::once_per_host) ==
        "if 'b' is a host, write -w a,b before the command");
  CHECK(hint_for_unknown_program({"b", "uptime"}, "a!c\nd", true, CommandUse::once_per_host) ==
        "if 'b' is a host, write -w a!c -w d,b before the command");
  CHECK(hint_for_unknown_program({"b", "uptime"}, "", true, CommandUse::once_per_host) ==
        "if 'b' is a host, write -w b before the command");
  CHECK(hint_for_unknown_program({"cd", "/tmp"}, "a", false, CommandUse::once_per_host)
            .find("as one word") != std::string::npos);
  CHECK(hint_for_unknown_program({"A=1", "env"}, "a", false, CommandUse::once_per_host)
            .find("as one word") != std::string::npos);
  CHECK(hint_for_unknown_program({"hostnam"}, "a", false, CommandUse::once_per_host).empty());
}

TEST_CASE("a text for a shell that no shell has got has a hint that says why") {
  const auto hint = [](const std::vector<std::string>& argv, CommandUse use) {
    return hint_for_unknown_program(argv, "h", false, use);
  };
  using enum CommandUse;
  CHECK(hint({"kill -STOP $$", "--host-timeout", "1"}, once_per_host) ==
        "a text for the shell is the only word of a command, and options stand before it");
  CHECK(hint({"echo a; echo b"}, ranks).find("sh -c 'TEXT'") != std::string::npos);
  CHECK(hint({"A=1 b"}, ranks).find("sh -c 'TEXT'") != std::string::npos);
  CHECK(hint({"a; b"}, exact) == "after -- no command goes to a shell: leave -- out");
  CHECK(hint({"A=1 b"}, once_per_host).empty());
  CHECK(hint({"no-such"}, ranks).empty());
}

}  // namespace command_words_test
