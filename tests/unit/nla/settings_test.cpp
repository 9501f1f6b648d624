#include "nla/settings.h"

#include <catch2/catch.hpp>

using namespace scela::nla;

TEST_CASE("settings arrive as they were sent") {
  Settings settings;
  CHECK(format(settings).empty());
  CHECK(parse_settings("") == settings);
  settings.record = "/tmp/a=b";
  settings.directory = "/scratch";
  settings.boot_id = "0123-45";
  settings.shares = 64;
  settings.heartbeat_ms = 0;
  settings.link = kLinkTcp;
  settings.measure = true;
  settings.room_for.emplace();
  settings.room_for->map_by = scela::MapBy::numa;
  settings.room_for->bind_to = scela::BindTo::hwthread;
  settings.room_for->cpus_per_rank = 4;
  settings.trace = true;
  CHECK(parse_settings(format(settings)) == settings);
}

TEST_CASE("a newer root's unknown settings are passed over, malformed ones are named") {
  const auto newer = parse_settings("colour=blue\nshares=3\n");
  REQUIRE(newer);
  CHECK(newer->shares == 3);
  for (const char* text :
       {"link=udp", "shares=x", "shares=0", "shares=3x", "no equals sign", "room_for=1 1",
        "room_for=6 1 1", "room_for=1 6 1", "room_for=1 1 0", "room_for=1 1 x"}) {
    const auto parsed = parse_settings(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == scela::ErrorKind::protocol);
    CHECK(parsed.error().text().find(text) != std::string::npos);
  }
}
