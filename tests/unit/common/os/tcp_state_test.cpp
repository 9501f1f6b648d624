#include "common/os/tcp_state.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "common/os/fd.h"

namespace scela::tcp_state_test {
namespace {

struct Pair {
  Fd own, peer;
};

Pair connected(int family) {
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  }
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const Fd listener(::socket(family, SOCK_STREAM, 0));
  REQUIRE(::bind(listener.get(), where, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), where, &size) == 0);
  Pair pair{Fd(::socket(family, SOCK_STREAM, 0)), {}};
  REQUIRE(::connect(pair.own.get(), where, size) == 0);
  pair.peer = Fd(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(pair.peer);
  return pair;
}

struct Ends {
  sockaddr_storage own{}, peer{};
  ConnectionState state() const {
    return connection_state(reinterpret_cast<const sockaddr&>(own),
                            reinterpret_cast<const sockaddr&>(peer));
  }
};

Ends ends_of(const Fd& fd) {
  Ends ends;
  socklen_t size = sizeof ends.own;
  REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&ends.own), &size) == 0);
  size = sizeof ends.peer;
  REQUIRE(::getpeername(fd.get(), reinterpret_cast<sockaddr*>(&ends.peer), &size) == 0);
  return ends;
}

TEST_CASE("The kernel tells whether a connection is open, closing or absent") {
  const int family = GENERATE(AF_INET, AF_INET6);
  Pair pair = connected(family);
  const Ends ends = ends_of(pair.own);
  CHECK(ends.state() == ConnectionState::open);
  pair.peer.reset();
  CHECK(ends.state() == ConnectionState::closing);
}

TEST_CASE("A connection that its peer has reset is absent") {
  Pair pair = connected(AF_INET);
  const Ends ends = ends_of(pair.own);
  const linger at_once{1, 0};
  REQUIRE(::setsockopt(pair.peer.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  pair.peer.reset();
  CHECK(ends.state() == ConnectionState::absent);
}

TEST_CASE("Nothing is known of ends of different families") {
  Ends ends;
  ends.own.ss_family = AF_INET;
  ends.peer.ss_family = AF_INET6;
  CHECK(ends.state() == ConnectionState::unknown);
  ends.own.ss_family = ends.peer.ss_family = AF_UNIX;
  CHECK(ends.state() == ConnectionState::unknown);
}

}  // namespace
}  // namespace scela::tcp_state_test
