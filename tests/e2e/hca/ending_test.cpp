// Engines begin and end: one at a time at one place, and nothing is left of them.
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "hca/engine/daemon/runtime_dir.h"
#include "tests/e2e/hca/engine_client.h"
#include "tests/e2e/hca/engine_program.h"
#include "tests/support/eventually.h"

namespace ending_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::test;

namespace {
const std::vector<std::string> kLockOnly{"lock"};
}

TEST_CASE("an engine that is asked to end removes its socket, and its processes see its end") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  Reply made = client.ask(Operation::create_channel);
  REQUIRE(made.descriptors.size() >= 1);
  engine.signal(GENERATE(SIGTERM, SIGINT, SIGHUP));
  CHECK(engine.wait() == 0);
  CHECK((engine.files().empty() || engine.files() == kLockOnly));
  CHECK(sees_end(client.connection()));
  CHECK(sees_end(client.events()));
  CHECK(sees_end(made.descriptors[0]));
  CHECK(engine.said().empty());
}

TEST_CASE(
    "an engine that is killed is seen to end on every descriptor, and another takes its place") {
  EngineProcess engine;
  Client client(engine.socket());
  client.hello();
  Reply made = client.ask(Operation::create_channel);
  REQUIRE(made.descriptors.size() >= 1);
  engine.signal(SIGKILL);
  CHECK(WIFSIGNALED(engine.wait()));
  CHECK(sees_end(client.connection()));
  CHECK(sees_end(client.events()));
  CHECK(sees_end(made.descriptors[0]));
  engine.start();
  Client another(engine.socket());
  another.hello();
}

TEST_CASE("an engine that is asked to end does so though a process holds the lock") {
  EngineProcess engine;
  const auto home = EngineRuntimeDir::at(engine.socket());
  REQUIRE(home);
  const auto lock = home->lock();
  REQUIRE(lock);
  engine.signal(SIGTERM);
  CHECK(engine.wait() == 0);
  CHECK(engine.files() == kLockOnly);
}

TEST_CASE("with --until-idle an engine ends with its last process") {
  EngineProcess engine({"--until-idle"});
  {
    Client first(engine.socket());
    first.hello();
    {
      Client second(engine.socket());
      second.hello();
    }
    CHECK(first.ask(Operation::alloc_pd).answer.error == 0);
  }
  CHECK(engine.wait() == 0);
  CHECK(engine.files() == kLockOnly);
}

TEST_CASE("an idle engine waits until the process that holds the lock has found it") {
  EngineProcess engine({"--until-idle"});
  const auto home = EngineRuntimeDir::at(engine.socket());
  REQUIRE(home);
  auto lock = home->lock();
  REQUIRE(lock);
  {
    Client first(engine.socket());
    first.hello();
  }
  // The engine cannot have removed its socket, because the test holds the lock.
  Client second(engine.socket());
  REQUIRE(second.connected());
  second.hello();
  lock->reset();
  CHECK(second.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("processes that come and go find an engine or none, but never a dying one") {
  EngineProcess engine({"--until-idle"});
  for (int i = 0; i < 200; ++i) {
    auto home = EngineRuntimeDir::at(engine.socket());
    REQUIRE(home);
    auto lock = home->lock();
    REQUIRE(lock);
    Client client(engine.socket());
    if (!client.connected()) {
      CHECK(engine.wait() == 0);
      engine.start();
      continue;
    }
    lock->reset();
    client.hello();
  }
}

TEST_CASE("an idle engine ends even if its directory was removed") {
  EngineProcess engine({"--until-idle"});
  {
    Client client(engine.socket());
    client.hello();
    REQUIRE(remove_tree(engine.directory()));
  }
  CHECK(engine.wait() == 0);
}

TEST_CASE("an engine that ends leaves the socket of another that was made in its place") {
  EngineProcess engine;
  auto home = EngineRuntimeDir::at(engine.socket());
  REQUIRE(home);
  REQUIRE(::unlink(engine.socket().c_str()) == 0);
  auto other = home->listen();
  REQUIRE(other);
  engine.signal(SIGTERM);
  CHECK(engine.wait() == 0);
  CHECK(home->connect());
}

TEST_CASE("a second engine at the same place says that one runs there") {
  EngineProcess engine;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(pipe->write.get(), 2);
    ::execl(engine_program(), "scela-hca", "--socket", engine.socket().c_str(), nullptr);
    ::_exit(1);
  }
  pipe->write.reset();
  std::string said;
  char bytes[512];
  for (ssize_t got; (got = ::read(pipe->read.get(), bytes, sizeof bytes)) > 0;)
    said.append(bytes, static_cast<std::size_t>(got));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 71);
  CHECK(said.find("an engine runs there already") != std::string::npos);
  Client client(engine.socket());
  client.hello();
}

TEST_CASE("a directory that other users may enter is refused, with advice") {
  EngineProcess engine;
  REQUIRE(::chmod(engine.directory().c_str(), 0755) == 0);
  const auto open = EngineRuntimeDir::at(engine.socket());
  REQUIRE_FALSE(open);
  CHECK(open.error().hint.starts_with("chmod 700"));
  CHECK_FALSE(EngineRuntimeDir::at(cat(engine.directory(), "/", std::string(120, 'x'))));
  CHECK_FALSE(EngineRuntimeDir::at("/proc/self/status/socket"));
}

}  // namespace ending_test
