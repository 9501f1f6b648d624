// Tests which session of a process comes next, and which hosts an agent hands back to scela-run.
#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "nla/spawn/factory.h"

namespace spawner_test {

using namespace scela;
using namespace scela::nla;

TEST_CASE("a session begins when its turn has come, not when it is asked for") {
  boost::asio::io_context io;
  SpawnContext context;
  context.agent = "/proc/self/exe";
  context.root = true;
  Settings settings;
  settings.launch = "/nowhere/launcher";  // all fail, each in its turn
  settings.fanout = 2;
  const auto spawner = make_spawner(io, context, settings);
  std::vector<std::string> seen;
  for (const std::string name : {"a", "b", "c"}) {
    Contact contact;
    contact.name = name;
    contact.address = name;
    spawner->start(
        contact, false, [&seen, name] { seen.push_back(name + " begins"); },
        [&seen, name](const auto& started) {
          CHECK_FALSE(started);
          seen.push_back(name + " is over");
        });
  }
  CHECK(seen == std::vector<std::string>{"a begins", "b begins"});
  io.run();
  CHECK(seen == std::vector<std::string>{"a begins", "b begins", "a is over", "c begins",
                                         "b is over", "c is over"});
}

TEST_CASE("hosts that only scela-run can reach are handed back to it") {
  boost::asio::io_context io;
  SpawnContext context;
  context.agent = "/nowhere/agent";
  const auto spawner = make_spawner(io, context, {});
  Contact contact;
  contact.name = "localhost";
  contact.root_only = true;
  if (GENERATE(false, true)) contact.address = "127.0.0.1";
  int calls = 0;
  const auto done = [&](const tl::expected<StartedAgent, SpawnFailure>& started) {
    ++calls;
    REQUIRE_FALSE(started);
    CHECK(started.error().hand_back);
  };
  spawner->start(
      contact, false, [] { FAIL("nothing is tried"); }, done);
  spawner->attach(contact, {}, done);
  CHECK(calls == 2);
}

}  // namespace spawner_test
