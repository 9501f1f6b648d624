// Tests that connections that say nothing delay no other connection, and keep no engine alive.
#include "hca/engine/daemon/pending_handshakes.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <thread>

#include "common/os/syscall.h"
#include "hca/engine/daemon/engine_server.h"

namespace pending_handshakes_test {

using namespace scela;
using namespace scela::hca;

TEST_CASE("a pending handshake is due once, when its time is over") {
  PendingHandshakes pending(10);
  CHECK_FALSE(pending.deadline());
  pending.came(1, 100);
  pending.came(2, 105);
  CHECK(pending.deadline() == 110);
  CHECK(pending.due(109).empty());
  CHECK(pending.due(110) == std::vector<ProcessId>{1});
  CHECK(pending.deadline() == 115);
  pending.came(3, 111);
  CHECK(pending.due(200) == std::vector<ProcessId>{2, 3});
  CHECK_FALSE(pending.deadline());
}

TEST_CASE("an engine that ends with its last process is not kept alive by a silent connection") {
  Fd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The kernel makes up the name.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof address;
  REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) == 0);
  REQUIRE(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  REQUIRE(::listen(listening.get(), 4) == 0);
  const Fd silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(silent.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  Server::Rules rules;
  rules.until_idle = true;
  rules.silence = 1;
  bool served = false;
  std::thread engine([&] {
    served = Server::serve(rules, nullptr, std::move(listening), nullptr, -1).has_value();
  });
  // The engine ends, and has closed the connection before that.
  char byte = 0;
  CHECK(retry([&] { return ::recv(silent.get(), &byte, 1, 0); }) == 0);
  engine.join();
  CHECK(served);
}

}  // namespace pending_handshakes_test
