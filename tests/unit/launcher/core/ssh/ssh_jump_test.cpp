#include "launcher/core/ssh/ssh_jump.h"

#include <catch2/catch.hpp>

namespace ssh_jump_test {

using namespace scela;

namespace {
std::string command(std::string_view jumps) {
  const auto jump = parse_jump(jumps);
  return jump ? jump_command(*jump, std::nullopt, "node1", 22) : "refused: " + jump.error().why;
}
}  // namespace

TEST_CASE("a jump is an ssh that carries its streams to the host") {
  CHECK(command("gate") == "ssh -W '[node1]:22' 'gate'");
  CHECK(command("me@gate:2222") == "ssh -l 'me' -p 2222 -W '[node1]:22' 'gate'");
  CHECK(command("ssh://me@gate:2222") == command("me@gate:2222"));
  CHECK(command("[fe80::1]:2222") == "ssh -p 2222 -W '[node1]:22' 'fe80::1'");
  CHECK(command("2001:db8::1") == "ssh -W '[node1]:22' '2001:db8::1'");
}

TEST_CASE("the last of several jumps is the host that ssh is asked for, the others lead to it") {
  CHECK(command("a:1,b,me@c") == "ssh -l 'me' -J 'a:1,b' -W '[node1]:22' 'c'");
}

TEST_CASE("the configuration that was named is named again") {
  const auto jump = parse_jump("gate");
  REQUIRE(jump);
  CHECK(jump_command(*jump, "it's", "::1", 2200) == "ssh -F 'it'\\''s' -W '[::1]:2200' 'gate'");
}

TEST_CASE("a malformed host, option or command is refused as a jump") {
  for (const char* bad : {"", ",", "a,", "-oProxyCommand=x", "-l@gate", "a;b", "$(x)", "a b", "a:0",
                          "a:99999", "a:x", "a:", "[::1", "[::1]x", "@a", "user@", "`x`@a"}) {
    INFO(bad);
    const auto jump = parse_jump(bad);
    REQUIRE_FALSE(jump);
    CHECK(jump.error().kind == ErrorKind::usage);
    CHECK_FALSE(jump.error().hint.empty());
  }
}

}  // namespace ssh_jump_test
