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
  CHECK(hint_for_unknown_program({"b", "uptime"}, "a", true) ==
        "if 'b' is a host, write -w a,b before the command");
  CHECK(hint_for_unknown_program({"b", "uptime"}, "a!c\nd", true) ==
        "if 'b' is a host, write -w a!c -w d,b before the command");
  CHECK(hint_for_unknown_program({"b", "uptime"}, "", true) ==
        "if 'b' is a host, write -w b before the command");
  CHECK(hint_for_unknown_program({"cd", "/tmp"}, "a", false).find("as one word") !=
        std::string::npos);
  CHECK(hint_for_unknown_program({"A=1", "env"}, "a", false).find("as one word") !=
        std::string::npos);
  CHECK(hint_for_unknown_program({"hostnam"}, "a", false).empty());
}

}  // namespace command_words_test
