#include "nla/io/shell_settings.h"

#include <catch2/catch.hpp>

namespace shell_settings_test {

using namespace scela::nla;

TEST_CASE("settings arrive as they were sent") {
  Settings settings;
  CHECK(format(settings).empty());
  CHECK(parse_settings("") == settings);
  settings.record = "/tmp/a=b";
  settings.directory = "/scratch";
  settings.boot_id = "0123-45";
  settings.address = "192.0.2.7";
  settings.shares = 64;
  settings.heartbeat_ms = 0;
  settings.link = kLinkTcp;
  settings.measure = true;
  settings.usage = true;
  settings.topology = true;
  settings.pmi_guessed = true;
  settings.trace = true;
  settings.package = std::string(64, 'a');
  settings.agent_cache = false;
  settings.leaf_agents = true;
  CHECK(parse_settings(format(settings)) == settings);
}

TEST_CASE("a newer root's unknown settings are passed over, malformed ones are named") {
  const auto newer = parse_settings("colour=blue\nshares=3\n");
  REQUIRE(newer);
  CHECK(newer->shares == 3);
  for (const char* text : {"link=udp", "shares=x", "shares=0", "shares=3x", "no equals sign"}) {
    const auto parsed = parse_settings(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == scela::ErrorKind::protocol);
    CHECK(parsed.error().text().find(text) != std::string::npos);
  }
}

}  // namespace shell_settings_test
