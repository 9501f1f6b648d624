// The parts of a connection machine, each alone over a LocalEnd, without the other parts
// (comm-channel/core/connect/local_end.h).
#include <catch2/catch.hpp>
#include <variant>

#include "comm-channel/core/connect/connection_machine.h"

namespace connect_parts_test {

using namespace scela::channel::connect;

namespace {

PeerAddress address_of(std::uint32_t rank, NodeKey node) {
  PeerAddress address;
  address.name = {1, rank};
  address.life = 1;
  address.node = node;
  return address;
}

LocalEnd end_for(Mode mode) {
  Options options;
  options.mode = mode;
  options.srq = 42;
  LocalEnd end(address_of(0, 0), options);
  end.peers().add(address_of(1, 1));
  end.peers().add(address_of(2, 1));
  end.timer().grow(2);
  return end;
}

// Returns the only action, which must be a datagram, and removes it.
Handshake only_datagram(LocalEnd& end) {
  REQUIRE(end.actions().size() == 1);
  const auto* const sent = std::get_if<action::SendDatagram>(&end.actions().front());
  REQUIRE(sent != nullptr);
  const auto shake = decode(sent->bytes);
  REQUIRE(shake);
  end.actions().clear();
  return *shake;
}

Handshake datagram(HandshakeKind kind, std::uint32_t number) {
  Handshake shake;
  shake.said = kind;
  shake.number = number;
  return shake;
}

}  // namespace

TEST_CASE("connect parts: a receiver answers a request again, and refuses what it has closed") {
  LocalEnd end = end_for(Mode::shared);
  XrcReceiver receiver(end);
  receiver.grow();
  receiver.on_request(0, datagram(HandshakeKind::connect, 5));
  CHECK(receiver.state_of(0) == XrcTargetState::making);
  end.actions().clear();
  receiver.on_qp_made(0, {0, 1234, 0});
  const Handshake answer = only_datagram(end);
  CHECK(answer.said == HandshakeKind::accept);
  CHECK(answer.srq == 42);
  CHECK(answer.end.qpn == 1234);
  receiver.on_request(0, datagram(HandshakeKind::connect, 5));
  CHECK(only_datagram(end) == answer);
  receiver.on_close(0, 5);
  CHECK_FALSE(receiver.holds_any());
  CHECK(end.qps().targets() == 0);
  end.actions().clear();
  receiver.on_request(0, datagram(HandshakeKind::connect, 5));
  CHECK(only_datagram(end).refusal == Refusal::gone);
}

TEST_CASE("connect parts: a sender asks another peer of the node if the first one is leaving") {
  LocalEnd end = end_for(Mode::shared);
  XrcSender sender(end);
  sender.grow();
  sender.want(0);
  sender.want(1);
  end.actions().clear();
  sender.on_qp_made(0, {0, 77, 0});
  const Handshake first = only_datagram(end);
  CHECK(first.to.rank == 1);
  CHECK(first.end.qpn == 77);
  Handshake refusal = datagram(HandshakeKind::refuse, first.number);
  refusal.refusal = Refusal::leaving;
  sender.on_refuse(0, refusal);
  CHECK(end.peers().presence(0) == Presence::leaving);
  CHECK(std::holds_alternative<action::Failed>(end.actions().front()));
  end.actions().erase(end.actions().begin());
  CHECK(only_datagram(end).to.rank == 2);
  CHECK(sender.is_direct(1));
}

TEST_CASE("connect parts: of two requests that cross, that of the lower name counts") {
  LocalEnd end = end_for(Mode::pairs);
  RcPairs pairs(end);
  pairs.grow();
  pairs.want(0);
  end.actions().clear();
  pairs.on_qp_made(0, {0, 77, 0});
  const Handshake request = only_datagram(end);
  pairs.on_datagram(0, datagram(HandshakeKind::connect, 9));
  CHECK(only_datagram(end) == request);
  CHECK(pairs.state_of(0) == PairState::asking);
}

TEST_CASE("connect parts: a copy of a machine changes its own state alone") {
  const PeerAddress self = address_of(0, 0);
  Machine machine(self, Options{});
  machine.add(address_of(1, 1));
  Machine copy = machine;
  copy.handle(event::Wanted{0}, Time(0));
  CHECK(copy.state_of(0) == PeerState::waiting);
  CHECK(copy.actions().size() == 1);
  CHECK(machine.state_of(0) == PeerState::idle);
  CHECK(machine.actions().empty());
  machine = copy;
  copy.handle(event::PeerEnded{0}, Time(0));
  CHECK(machine.state_of(0) == PeerState::waiting);
  CHECK(machine.peers().presence(0) == Presence::present);
  machine.handle(event::QpMade{0, 7, 0}, Time(0));
  CHECK(machine.state_of(0) == PeerState::asking);
  CHECK(copy.state_of(0) == PeerState::idle);
}

}  // namespace connect_parts_test
