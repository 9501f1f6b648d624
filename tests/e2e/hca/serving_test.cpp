// The objects that the engine gives to a process, and the processes that it refuses.
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "hca/engine/daemon/client_connection.h"
#include "tests/e2e/hca/engine_client.h"
#include "tests/support/eventually.h"

namespace serving_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::test;

namespace {

// Counts the open files of a process.
std::size_t descriptors_of(pid_t pid) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(cat("/proc/", pid, "/fd")),
                    std::filesystem::directory_iterator()));
}

bool is_refused(const Reply& reply) {
  return reply.came && reply.answer.error == EPROTO && reply.descriptors.empty();
}

}  // namespace

TEST_CASE("a process that says hello gets its page, its events and a way to wake the engine") {
  EngineProcess engine;
  Client client(engine.socket());
  REQUIRE(client.connected());
  client.hello();
  CHECK(client.page().magic == kLayoutMagic);
  CHECK(client.page().version == kLayoutVersion);
  CHECK(client.engine().magic == kLayoutMagic);
  CHECK(client.engine().version == kLayoutVersion);
  CHECK(client.chunks() == 1);
}

TEST_CASE("a request of another size or version, or in the wrong order, ends its connection") {
  EngineProcess engine;
  Client client(engine.socket());
  Ask ask;
  SECTION("another version") {
    ask.version = kLayoutVersion + 1;
    CHECK(is_refused(client.ask(ask)));
  }
  SECTION("another version after hello") {
    client.hello();
    ask.version = kLayoutVersion + 1;
    ask.operation = Operation::alloc_pd;
    CHECK(is_refused(client.ask(ask)));
  }
  SECTION("shorter") {
    REQUIRE(client.send(&ask, sizeof ask - 1));
    CHECK(is_refused(client.receive()));
  }
  SECTION("longer") {
    const std::string bytes(sizeof ask + 1, '\1');
    REQUIRE(client.send(bytes.data(), bytes.size()));
    CHECK(is_refused(client.receive()));
  }
  SECTION("much longer") {
    const std::string bytes(100'000, '\1');
    REQUIRE(client.send(bytes.data(), bytes.size()));
    CHECK(is_refused(client.receive()));
  }
  SECTION("something else before hello") {
    ask.operation = Operation::alloc_pd;
    CHECK(is_refused(client.ask(ask)));
  }
  SECTION("hello twice") {
    client.hello();
    CHECK(is_refused(client.ask(ask)));
  }
  CHECK(sees_end(client.connection()));
  Client another(engine.socket());
  another.hello();
}

TEST_CASE("an operation that the engine does not know ends nothing") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  const Reply reply = client.ask(static_cast<Operation>(9999));
  REQUIRE(reply.came);
  CHECK(reply.answer.error != 0);
  CHECK(client.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("queues stand in the memory that came with the answers, in new chunks where they must") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  Ask ask;
  ask.operation = Operation::create_cq;
  for (const std::uint32_t entries : {16u, 1000u, 5000u, 100'000u}) {
    ask.entries = entries;
    Reply reply = client.ask(ask);
    REQUIRE(reply.came);
    REQUIRE(reply.answer.error == 0);
    client.take_chunks(reply, 0);
    CHECK(reply.answer.entries >= entries);
    CHECK(reply.answer.send.bytes >= kEntriesOffset + entries * sizeof(Completion));
    auto& ring = *reinterpret_cast<CompletionRing*>(client.at(reply.answer.send));
    CHECK(ring.produced.load() == 0);
  }
  CHECK(client.chunks() > 1);
}

TEST_CASE("the events of a channel come over the socket that its creation brings") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  Reply made = client.ask(Operation::create_channel);
  REQUIRE(made.answer.error == 0);
  REQUIRE(made.descriptors.size() == 1 + made.answer.new_chunks);
  const Fd channel = std::move(made.descriptors[0]);
  Ask ask;
  ask.operation = Operation::destroy_channel;
  ask.handle = made.answer.handle;
  REQUIRE(client.ask(ask).answer.error == 0);
  CHECK(sees_end(channel));
}

TEST_CASE("objects of processes are released when they end or are killed") {
  EngineProcess engine;
  const std::size_t before = descriptors_of(engine.pid());
  const bool killed = GENERATE(false, true);
  for (int i = 0; i < 5; ++i) {
    auto ready = make_pipe();
    REQUIRE(ready);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      {
        Client client(engine.socket());
        client.hello();
        for (int channel = 0; channel < 3; ++channel)
          static_cast<void>(client.ask(Operation::create_channel));
        static_cast<void>(!::write(ready->write.get(), "r", 1));
        if (killed) ::pause();
      }
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready->read.get(), &byte, 1) == 1);
    if (killed) ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  CHECK(eventually([&] { return descriptors_of(engine.pid()) == before; }));
}

TEST_CASE("a process that ends is gone though a child of it holds its connection") {
  EngineProcess engine;
  auto told = make_pipe();
  auto go = make_pipe();
  REQUIRE((told && go));
  const std::size_t before = descriptors_of(engine.pid());
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    Client client(engine.socket());
    client.hello();
    const pid_t child = ::fork();
    if (child == 0) {
      go->write.reset();
      static_cast<void>(!::write(told->write.get(), "r", 1));
      char byte = 0;
      static_cast<void>(!::read(go->read.get(), &byte, 1));
    }
    ::_exit(0);
  }
  told->write.reset();
  char byte = 0;
  REQUIRE(::read(told->read.get(), &byte, 1) == 1);
  ::waitpid(parent, nullptr, 0);
  CHECK(eventually([&] { return descriptors_of(engine.pid()) == before; }));
  go->write.reset();
  CHECK(::read(told->read.get(), &byte, 1) == 0);  // the child has gone too
}

TEST_CASE("a process that does not read its answers loses its connection and delays no other") {
  EngineProcess engine;
  Client deaf(engine.socket());
  deaf.hello();
  Ask ask;
  ask.operation = Operation::alloc_pd;
  while (deaf.send(&ask, sizeof ask)) {
  }
  Client client(engine.socket());
  client.hello();
  CHECK(client.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("a process of another user is refused, and the engine logs its user and process") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  EngineProcess engine;
  // The way to the socket is open to all, but no other user may use it.
  REQUIRE(::chmod(engine.directory().c_str(), 0755) == 0);
  REQUIRE(::chmod(engine.socket().c_str(), 0666) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool refused = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    Client client(engine.socket());
    refused = refused && client.connected() && !client.ask(Operation::hello).came;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(engine.said().find(cat("refused process ", child, " of user 65534")) != std::string::npos);
  Client client(engine.socket());
  client.hello();
}

TEST_CASE("another user's process that connects again and again keeps no other process out") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  EngineProcess engine;
  REQUIRE(::chmod(engine.directory().c_str(), 0755) == 0);
  REQUIRE(::chmod(engine.socket().c_str(), 0666) == 0);
  const std::size_t before = descriptors_of(engine.pid());
  const pid_t hostile = ::fork();
  REQUIRE(hostile >= 0);
  if (hostile == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    Ask hello;
    const std::string noise(5000, '\xff');
    for (;;) {
      const Client one(engine.socket()), other(engine.socket());
      static_cast<void>(one.send(&hello, sizeof hello));
      static_cast<void>(other.send(noise.data(), noise.size()));
      // The engine does not answer, and hands nothing over.
      if (one.connected() && one.receive().came) ::_exit(2);
    }
  }
  for (int i = 0; i < 50; ++i) {
    Client client(engine.socket());
    client.hello();
    CHECK(client.ask(Operation::alloc_pd).answer.error == 0);
  }
  int status = 0;
  CHECK(::waitpid(hostile, &status, WNOHANG) == 0);  // it goes on all the while
  ::kill(hostile, SIGKILL);
  REQUIRE(::waitpid(hostile, &status, 0) == hostile);
  CHECK(eventually([&] { return descriptors_of(engine.pid()) == before; }));
}

TEST_CASE("a running engine reports its state") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  Client asker(engine.socket());
  StatusAsk ask;
  ask.is_json = GENERATE(0, 1);
  REQUIRE(asker.send(&ask, sizeof ask));
  const Reply reply = asker.receive();
  REQUIRE(reply.descriptors.size() == 1);
  char text[4096] = {};
  REQUIRE(::pread(reply.descriptors[0].get(), text, sizeof text - 1, 0) > 0);
  CHECK(std::string(text).starts_with(ask.is_json != 0 ? "{" : "scela-hca "));
}

}  // namespace serving_test
