// Tests that connections that say nothing delay no other connection, and keep no engine alive.
#include "hca/engine/net/newcomers.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <thread>

#include "common/os/syscall.h"
#include "hca/engine/daemon/server.h"

namespace newcomers_test {

using namespace scela;
using namespace scela::hca;

TEST_CASE("who has come is due once, when its time is over") {
  Newcomers newcomers(10);
  CHECK_FALSE(newcomers.deadline());
  newcomers.came(1, 100);
  newcomers.came(2, 105);
  CHECK(newcomers.deadline() == 110);
  CHECK(newcomers.due(109).empty());
  CHECK(newcomers.due(110) == std::vector<ProcessId>{1});
  CHECK(newcomers.deadline() == 115);
  newcomers.came(3, 111);
  CHECK(newcomers.due(200) == std::vector<ProcessId>{2, 3});
  CHECK_FALSE(newcomers.deadline());
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

}  // namespace newcomers_test
