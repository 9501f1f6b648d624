// Tests the command line of a program that executes a command on another node.
#include "nla/core/tree/start_words.h"

#include <catch2/catch.hpp>

namespace scela::nla {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("start words: a program like rsh gets the host and the command as its last words") {
  CHECK(start_words("rsh", {"n1", std::nullopt}, "exec a 'b c'") ==
        Words{"rsh", "n1", "exec a 'b c'"});
  CHECK(start_words("  /sge/qrsh   -inherit ", {"n1", std::nullopt}, "x y") ==
        Words{"/sge/qrsh", "-inherit", "n1", "x y"});
  CHECK(start_words("ssh -x", {"me@n1", 2222}, "x") ==
        Words{"ssh", "-x", "-p", "2222", "me@n1", "x"});
}

TEST_CASE("start words: a text with {host} has a place for each") {
  CHECK(start_words("kubectl exec -i {host} -- /bin/sh -c {command}", {"pod-1", std::nullopt},
                    "exec a 'b c'") ==
        Words{"kubectl", "exec", "-i", "pod-1", "--", "/bin/sh", "-c", "exec a 'b c'"});
  CHECK(start_words("x {host} y", {"n1", std::nullopt}, "c") == Words{"x", "n1", "y", "c"});
}

TEST_CASE("start words: a command with the text of a place in it is not changed") {
  CHECK(start_words("x {host} {command}", {"{command}", std::nullopt}, "{host}") ==
        Words{"x", "{command}", "{host}"});
  CHECK(start_words("rsh {command}", {"n1", std::nullopt}, "c") ==
        Words{"rsh", "{command}", "n1", "c"});
}

TEST_CASE("start words: a message names the program without its script") {
  CHECK(name_of_start("sh -c 'echo $1; exit 3' x") == "sh -c");
  CHECK(name_of_start(" /sge/qrsh  -inherit ") == "/sge/qrsh -inherit");
  CHECK(name_of_start("kubectl exec -i {host} -- /bin/sh -c {command}") == "kubectl exec -i");
  CHECK(name_of_start("'odd' {host}") == "'odd'");
  CHECK(name_of_start("").empty());
}

TEST_CASE("start words: a text without words has none") {
  CHECK(start_words("", {"n1", std::nullopt}, "c").empty());
  CHECK(start_words("   ", {"n1", std::nullopt}, "c").empty());
}

}  // namespace
}  // namespace scela::nla
