// An engine that was started without a job is told of one by its processes (hca/core/joining.h).
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

#include "common/core/text.h"
#include "hca/core/address.h"
#include "hca/core/joining.h"
#include "tests/e2e/hca/engine_client.h"
#include "tests/support/eventually.h"

using namespace scela;
using namespace scela::hca;
using namespace scela::test;

namespace {

std::string record(std::uint32_t node = 2, char key = 'a', const char* encrypt = "no") {
  return cat("job j\nnode ", node, "\nnodes 4\nkey ", std::string(64, key),
             "\nlisten 127.0.0.1:0\nencrypt ", encrypt, "\n");
}

JoinAsk joining(const std::string& text) {
  JoinAsk ask;
  ask.length = static_cast<std::uint32_t>(text.size());
  REQUIRE(text.size() <= sizeof ask.record);
  std::memcpy(ask.record, text.data(), text.size());
  return ask;
}

// What the engine says, to a process that goes on, or is refused and dropped.
int told(const Client& client, const std::string& text) {
  const JoinAsk ask = joining(text);
  REQUIRE(client.send(&ask, sizeof ask));
  const Reply reply = client.receive();
  REQUIRE(reply.came);
  CHECK(reply.descriptors.empty());
  if (reply.answer.error != 0) CHECK(sees_end(client.connection()));
  return static_cast<int>(reply.answer.error);
}

int told_by_another(const EngineProcess& engine, const std::string& text) {
  const Client client(engine.socket());
  return told(client, text);
}

}  // namespace

TEST_CASE(
    "the first process that tells an engine of its job counts, and others must say the same") {
  EngineProcess engine;
  const Client first(engine.socket());
  CHECK(told(first, record()) == 0);
  CHECK(told(first, record()) == 0);
  CHECK(told_by_another(engine, record()) == 0);
  CHECK(told_by_another(engine, record(2, 'b')) == EEXIST);
  CHECK(told_by_another(engine, record(1)) == EEXIST);
  CHECK(told_by_another(engine, record(2, 'a', "yes")) == EEXIST);
  const Client user(engine.socket());
  const Reply hello = user.ask(Operation::hello);
  REQUIRE(hello.came);
  const auto address = address_of(hello.answer.device.gids[0]);
  REQUIRE(address);
  CHECK(address->node == 2);
  CHECK(address->tcp_port != 0);
  CHECK(hello.answer.device.lids[0] == first_lid_of(2));
  CHECK(told_by_another(engine, record()) == 0);
  CHECK(engine.said().empty());
}

TEST_CASE("an engine that has told a program its addresses takes no job until that has gone") {
  EngineProcess engine;
  {
    Client user(engine.socket());
    user.hello();
    CHECK(told_by_another(engine, record()) == EBUSY);
    CHECK(user.ask(Operation::alloc_pd).answer.error == 0);
  }
  CHECK(eventually([&] { return told_by_another(engine, record()) == 0; }));
  Client user(engine.socket());
  user.hello();
  CHECK(user.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("what no job can be is refused, and the engine goes on") {
  EngineProcess engine;
  CHECK(told_by_another(engine, "nonsense") == EINVAL);
  CHECK(told_by_another(engine, record(4)) == EINVAL);
  CHECK(engine.said().find("node 4 of 4 cannot be") != std::string::npos);
  CHECK(engine.said().find("aaaa") == std::string::npos);
  // 192.0.2.0/24 is for documents: nobody has it.
  std::string elsewhere = record();
  elsewhere.replace(elsewhere.find("127.0.0.1"), 9, "192.0.2.1");
  CHECK(told_by_another(engine, elsewhere) == EADDRNOTAVAIL);
  JoinAsk ask = joining(record());
  SECTION("longer than it is") {
    ask.length = sizeof ask.record + 1;
  }
  SECTION("of another version") {
    ask.version += 1;
  }
  SECTION("another question") {
    ask.magic += 1;
  }
  const Client client(engine.socket());
  REQUIRE(client.send(&ask, sizeof ask));
  CHECK(client.receive().answer.error == EPROTO);
  CHECK(told_by_another(engine, record()) == 0);
}

TEST_CASE("with --until-idle an engine stays as long as who has told it its job") {
  EngineProcess engine({"--until-idle"});
  {
    const Client first(engine.socket());
    REQUIRE(told(first, record()) == 0);
    {
      Client user(engine.socket());
      user.hello();
    }
    // The engine has seen that one go before it answers the next.
    Client user(engine.socket());
    user.hello();
    CHECK(engine.running());
    CHECK(told_by_another(engine, record(3)) == EEXIST);
  }
  CHECK(engine.wait() == 0);
}
