// Requests that are repeated until they are answered (comm-channel/core/connect/handshake_timer.h),
// and the names of queue pairs (comm-channel/core/connect/qp_table.h).
#include "comm-channel/core/connect/handshake_timer.h"

#include <catch2/catch.hpp>
#include <vector>

#include "comm-channel/core/connect/qp_table.h"

namespace handshake_timer_test {

using namespace scela::channel::connect;

namespace {

constexpr auto kConnection = RequestPurpose::connection;
constexpr auto kDeparture = RequestPurpose::departure;
using Expiry = HandshakeTimer::Expiry;

HandshakeTimer timer_for(std::size_t peers) {
  HandshakeTimer timer({Time(10), Time(30), 4});
  timer.grow(peers);
  return timer;
}

// Moves the time to the next repeat of the only request, and looks at it.
Expiry expire_next(HandshakeTimer& timer, PeerId peer) {
  timer.set_now(*timer.next_wake());
  return timer.expire(peer, kConnection);
}

}  // namespace

TEST_CASE("handshake timer: waits double up to the longest, and the last send is not repeated") {
  HandshakeTimer timer = timer_for(1);
  timer.set_now(Time(100));
  timer.start(0, kConnection, HandshakeKind::connect, 7, true);
  CHECK(timer.next_wake() == Time(110));
  CHECK(timer.expire(0, kConnection) == Expiry::waiting);
  CHECK(expire_next(timer, 0) == Expiry::repeat);
  CHECK(timer.next_wake() == Time(130));
  CHECK(expire_next(timer, 0) == Expiry::repeat);
  CHECK(timer.next_wake() == Time(160));
  CHECK(expire_next(timer, 0) == Expiry::repeat);
  CHECK(timer.next_wake() == Time(190));
  CHECK(expire_next(timer, 0) == Expiry::unanswered);
  CHECK_FALSE(timer.next_wake());
  CHECK_FALSE(timer.is_any_active(kConnection));
  CHECK(timer.request(0, kConnection).kind == HandshakeKind::connect);
  CHECK(timer.requests() == 1);
  CHECK(timer.repeats() == 3);
}

TEST_CASE("handshake timer: a request that goes on with earlier sends is given up earlier") {
  HandshakeTimer timer = timer_for(1);
  timer.start(0, kConnection, HandshakeKind::connect, 8, true, 2);
  CHECK(timer.next_wake() == Time(10));
  CHECK(expire_next(timer, 0) == Expiry::repeat);
  CHECK(expire_next(timer, 0) == Expiry::unanswered);
}

TEST_CASE("handshake timer: only the answer to the current request is awaited") {
  HandshakeTimer timer = timer_for(1);
  CHECK_FALSE(timer.request(0, kConnection).is(HandshakeKind::connect, 0));
  timer.start(0, kConnection, HandshakeKind::connect, 3, true);
  CHECK(timer.request(0, kConnection).is(HandshakeKind::connect, 3));
  CHECK_FALSE(timer.request(0, kConnection).is(HandshakeKind::connect, 2));
  CHECK_FALSE(timer.request(0, kConnection).is(HandshakeKind::join, 3));
  timer.stop(0, kConnection);
  CHECK_FALSE(timer.request(0, kConnection).is(HandshakeKind::connect, 3));
}

TEST_CASE("handshake timer: peers that are due come in the order of their numbers, once each") {
  HandshakeTimer timer = timer_for(4);
  for (const PeerId peer : {3u, 0u, 2u})
    timer.start(peer, kConnection, HandshakeKind::connect, peer, true);
  timer.start(3, kDeparture, HandshakeKind::leave, 9, false);
  CHECK(timer.due().empty());
  timer.set_now(Time(10));
  CHECK(timer.due() == std::vector<PeerId>{0, 2, 3});
  timer.stop(0, kConnection);
  timer.stop(3, kConnection);
  CHECK(timer.due() == std::vector<PeerId>{2, 3});
  timer.prune();
  timer.forget(2);
  CHECK(timer.due() == std::vector<PeerId>{3});
  CHECK(timer.is_any_active(kDeparture));
  CHECK_FALSE(timer.is_any_active(kConnection));
  timer.start(2, kConnection, HandshakeKind::connect, 10, true);
  timer.set_now(Time(20));
  CHECK(timer.due() == std::vector<PeerId>{2, 3});
}

TEST_CASE("queue pair names: the lowest free one is used again, and connections are counted") {
  QpTable table;
  CHECK(table.allocate(QpUse::link, 5) == 0);
  CHECK(table.allocate(QpUse::target, 6) == 1);
  CHECK(table.allocate(QpUse::pair, 7) == 2);
  CHECK(table.connections() == 2);
  CHECK(table.targets() == 1);
  table.release(1);
  table.release(0);
  CHECK(table.connections() == 1);
  CHECK(table.targets() == 0);
  CHECK(table.owner(0).use == QpUse::none);
  CHECK(table.owner(100).use == QpUse::none);
  CHECK(table.owner(2).index == 7);
  CHECK(table.allocate(QpUse::target, 8) == 0);
  CHECK(table.owner(0).use == QpUse::target);
}

}  // namespace handshake_timer_test
