// An engine that was started without a job is told of one by its processes
// (hca/core/wire/joining.h).
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "common/core/text.h"
#include "hca/core/wire/joining.h"
#include "hca/core/wire/port_address.h"
#include "tests/e2e/hca/engine_client.h"
#include "tests/support/eventually.h"
#include "tests/support/output_of.h"

namespace joining_test {

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

using Json = nlohmann::json;
Json status_of(const EngineProcess& engine) {
  return Json::parse(output_of(cat(SCELA_HCA_PATH, " --status --json --socket ", engine.socket())));
}

// Returns the engine's answer to a process that tells it of a job. The process then goes on, or is
// refused and dropped.
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

TEST_CASE("the first process tells an engine its job, and later ones must say the same") {
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

TEST_CASE("an impossible description of a job is refused, and the engine goes on") {
  EngineProcess engine;
  CHECK(told_by_another(engine, "nonsense") == EINVAL);
  CHECK(told_by_another(engine, record(4)) == EINVAL);
  CHECK(engine.said().find("node 4 of 4 cannot be") != std::string::npos);
  CHECK(engine.said().find("aaaa") == std::string::npos);
  // 192.0.2.0/24 is reserved for documents, so no machine has this address.
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

TEST_CASE("an engine that was told of its job when it began takes every program's word for it") {
  const bool encrypt = GENERATE(false, true);
  const EngineProcess engine({}, record(3));
  Client user(engine.socket());
  user.hello();
  // The engine accepts another job, key and number, because one program says the same under all
  // launchers.
  CHECK(told_by_another(engine, record(1, 'b', encrypt ? "yes" : "no")) == 0);
  CHECK(told_by_another(engine, record()) == 0);
  CHECK(told_by_another(engine, "nonsense") == EINVAL);
  const Json status = status_of(engine);
  CHECK(status["fabric"]["node"] == "3");
  CHECK(status["lid"] == first_lid_of(3));
  CHECK(status["fabric"]["asks for encryption"] == (encrypt ? "yes" : "no"));
}

TEST_CASE("engines without a job have LIDs of their own, drawn within those of one receiver") {
  std::set<int> seen;
  for (int i = 0; i < 4; ++i) {
    const EngineProcess engine;
    const int lid = status_of(engine)["lid"];
    CHECK(lid >= 1);
    CHECK(lid <= 0xBFFE);
    CHECK(lid % 2 == 1);
    seen.insert(lid);
    const Client user(engine.socket());
    const Reply hello = user.ask(Operation::hello);
    REQUIRE(hello.came);
    CHECK(hello.answer.device.lids[0] == lid);
    CHECK(hello.answer.device.lids[1] == lid + 1);
    CHECK(output_of(cat(SCELA_HCA_PATH, " --status --socket ", engine.socket()))
              .find(cat("no job; LIDs ", lid, " and ", lid + 1, ", drawn at random")) !=
          std::string::npos);
  }
  // All four are the same once in ten million million runs.
  CHECK(seen.size() > 1);
}

TEST_CASE("an engine reads its environment once and reports variables without meaning") {
  const auto with = [](const char* name, const char* value) {
    ::setenv(name, value, 1);
    auto engine = std::make_unique<EngineProcess>(std::vector<std::string>{}, record(3));
    ::unsetenv(name);
    return engine;
  };
  const auto asks = [](const EngineProcess& engine) {
    return status_of(engine)["fabric"]["asks for encryption"] == "yes";
  };
  for (const char* yes : {"yes", "1"})
    CHECK(asks(*with("SCELA_HCA_ENCRYPT", yes)));
  for (const char* no : {"no", "0", ""})
    CHECK_FALSE(asks(*with("SCELA_HCA_ENCRYPT", no)));
  const auto typo = with("SCELA_HCA_ENCRIPT", "yes");
  CHECK(typo->said().find("the variable SCELA_HCA_ENCRIPT means nothing") != std::string::npos);
  CHECK_FALSE(asks(*typo));
  ::setenv("SCELA_HCA_ENCRYPT", "maybe", 1);
  const std::string refused =
      output_of(cat(SCELA_HCA_PATH, " --socket ", typo->directory(), "/another 2>&1; echo $?"));
  ::unsetenv("SCELA_HCA_ENCRYPT");
  CHECK(refused.find("SCELA_HCA_ENCRYPT: 'maybe' is neither yes, 1, no nor 0") !=
        std::string::npos);
  CHECK(refused.ends_with("64\n"));
}

TEST_CASE("a question that names no engine is answered by the only engine, or by all") {
  ::unsetenv("SCELA_HCA_SOCKET");
  const EngineProcess first({}, record(3));
  const EngineProcess second;
  // Other engines of this user may run on the machine.
  const Json all = Json::parse(output_of(SCELA_HCA_PATH " --status --json"));
  std::map<int, Json> found;
  for (const Json& one : all["engines"])
    found[one["pid"]] = one;
  REQUIRE(found.contains(first.pid()));
  REQUIRE(found.contains(second.pid()));
  CHECK(found[first.pid()]["socket"] == first.socket());
  CHECK(found[first.pid()]["job"] == "j");
  CHECK(found[first.pid()]["node"] == "3");
  CHECK(found[second.pid()]["socket"] == second.socket());
  CHECK(found[second.pid()]["job"] == "-");
  const std::string text = output_of(SCELA_HCA_PATH " --status");
  CHECK(text.find("--socket PATH shows one") != std::string::npos);
  CHECK(text.find(first.socket()) != std::string::npos);
  CHECK(text.find(second.socket()) != std::string::npos);
}

TEST_CASE("with --until-idle an engine stays while the process that told it its job is connected") {
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

}  // namespace joining_test
