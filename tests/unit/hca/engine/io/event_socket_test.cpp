#include "hca/engine/io/event_socket.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdint>

namespace event_socket_test {

using namespace scela;
using namespace scela::hca;

namespace {

bool send(EventSocket& socket, std::uint64_t number) {
  return socket.send(std::as_bytes(std::span(&number, 1)));
}

// Returns ~0 if there is nothing to read, and ~0 - 1 if the other end is gone.
std::uint64_t read(const Fd& end) {
  std::uint64_t number = ~0ULL;
  const ssize_t got = ::recv(end.get(), &number, sizeof number, MSG_DONTWAIT);
  return got == 0 ? ~0ULL - 1 : number;
}

}  // namespace

TEST_CASE("events that a socket does not take are kept, and come in order") {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(pair);
  EventSocket socket(std::move(pair->ours));
  std::uint64_t sent = 0;
  while (!socket.keeps())
    REQUIRE(send(socket, sent++));
  for (int i = 0; i < 1000; ++i)
    REQUIRE(send(socket, sent++));
  for (std::uint64_t expected = 0; expected < sent; ++expected) {
    if (socket.keeps()) socket.flush();
    REQUIRE(read(pair->theirs) == expected);
  }
  CHECK_FALSE(socket.keeps());
  CHECK(read(pair->theirs) == ~0ULL);
}

TEST_CASE("a process that reads no events is reported at a bound") {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(pair);
  EventSocket socket(std::move(pair->ours));
  std::size_t sent = 0;
  while (send(socket, sent))
    REQUIRE(++sent < 2 * EventSocket::kMaxKept);
  CHECK(sent >= EventSocket::kMaxKept);
}

TEST_CASE("events for a closed connection are dropped, and the end of the engine's side is seen") {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(pair);
  {
    EventSocket socket(std::move(pair->ours));
    CHECK(send(socket, 1));
  }
  CHECK(read(pair->theirs) == 1);
  CHECK(read(pair->theirs) == ~0ULL - 1);

  auto other = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(other);
  EventSocket socket(std::move(other->ours));
  while (!socket.keeps())
    REQUIRE(send(socket, 1));
  other->theirs.reset();
  socket.flush();
  CHECK_FALSE(socket.keeps());
  CHECK(send(socket, 2));
}

}  // namespace event_socket_test
