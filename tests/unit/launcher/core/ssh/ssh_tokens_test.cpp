#include "launcher/core/ssh/ssh_tokens.h"

#include <catch2/catch.hpp>

namespace ssh_tokens_test {

using namespace scela;

namespace {
const SshTokens kTokens{"10.0.0.1", "node1", "", 2222, "them", "me", "/home/me", "front.site", 7};
}

TEST_CASE("tokens stand for the host, the users and this machine") {
  CHECK(expand_tokens("%h %n %k %p %r %u %d %l %L %i %%", kTokens) ==
        "10.0.0.1 node1 node1 2222 them me /home/me front.site front 7 %");
  SshTokens alias = kTokens;
  alias.host_key_alias = "other";
  CHECK(expand_tokens("%k", alias) == "other");
  for (const char* bad : {"%", "a%", "%C", "%T", "% "}) {
    INFO(bad);
    const auto refused = expand_tokens(bad, kTokens);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::usage);
  }
}

TEST_CASE("paths have homes, tokens and variables") {
  const std::map<std::string, std::string> environment{{"KEYS", "/keys/%h"}};
  CHECK(expand_path("~", kTokens, environment) == "/home/me");
  CHECK(expand_path("~/.ssh/%r", kTokens, environment) == "/home/me/.ssh/them");
  // The value of a variable is taken literally.
  CHECK(expand_path("${KEYS}/%n", kTokens, environment) == "/keys/%h/node1");
  CHECK(expand_path("a~b", kTokens, environment) == "a~b");
  for (const char* bad : {"~root/x", "${NONE}", "${KEYS", "%C"}) {
    INFO(bad);
    CHECK_FALSE(expand_path(bad, kTokens, environment));
  }
}

}  // namespace ssh_tokens_test
