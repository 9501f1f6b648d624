// Tests the send queue alone: a network without room, and no messenger.
#include "comm-channel/messenger/send_queue.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tests/unit/comm-channel/recording_network.h"

namespace scela::channel::test::send_queue_test {
namespace {

class NoPieces final : public PieceSender {
 public:
  bool send_pieces(Operation&, const Header&) override { return true; }
};

// The queue of rank 0, with two ranks on other nodes.
struct Alone {
  World world = apart(3);
  ChannelOptions options;
  Peers peers{world, false};
  RecordingNetwork* network = new RecordingNetwork;  // `transports` owns it
  Transports transports{peers, nullptr, std::unique_ptr<Network>(network)};
  NoPieces pieces;
  SendQueue queue{options, peers, transports, pieces};
  std::vector<std::byte> bytes = std::vector<std::byte>(8);

  Operation send_to(int rank, int tag) {
    Operation send;
    send.is_send = true;
    send.peer = rank;
    send.tag = tag;
    send.from = bytes.data();
    send.length = bytes.size();
    send.phase = Phase::waiting;
    return send;
  }
  void fin(int rank, std::uint32_t number) {
    queue.enqueue_control(rank, Kind::fin, number, bytes_of(Fin{}));
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const RecordingNetwork::Sent& one : network->sent)
      kinds.push_back(one.header.kind);
    return kinds;
  }
};

}  // namespace

TEST_CASE("channel send queue: a message that has room goes at once and completes") {
  Alone alone;
  Operation send = alone.send_to(1, 7);
  alone.queue.enqueue_eager(send);
  CHECK(send.complete());
  CHECK(send.status.ok());
  REQUIRE(alone.network->sent.size() == 1);
  CHECK(alone.network->sent[0].rank == 1);
  CHECK(alone.network->sent[0].header.tag == 7);
  CHECK(alone.network->sent[0].header.length == alone.bytes.size());
  CHECK(alone.peers.counters(1).messages_sent == 1);
  CHECK(alone.peers.counters(1).bytes_sent == alone.bytes.size());
  CHECK_FALSE(alone.queue.blocked());
  CHECK_FALSE(alone.queue.retry());
}

TEST_CASE("channel send queue: messages that wait for room keep their order, answers overtake") {
  Alone alone;
  alone.network->has_room = false;
  Operation first = alone.send_to(1, 1), second = alone.send_to(1, 2);
  alone.queue.enqueue_eager(first);
  alone.queue.enqueue_eager(second);
  alone.fin(1, 5);
  CHECK(alone.queue.blocked());
  CHECK(alone.queue.owes());
  CHECK_FALSE(alone.queue.retry());
  CHECK_FALSE(first.complete());
  alone.network->has_room = true;
  CHECK(alone.queue.retry());
  CHECK(alone.kinds() == std::vector{Kind::fin, Kind::eager, Kind::eager});
  CHECK(alone.network->sent[1].header.tag == 1);
  CHECK(alone.network->sent[2].header.tag == 2);
  CHECK(first.complete());
  CHECK(second.complete());
  CHECK_FALSE(alone.queue.blocked());
}

TEST_CASE("channel send queue: a message behind one that waits does not overtake it") {
  Alone alone;
  alone.network->has_room = false;
  Operation first = alone.send_to(1, 1), second = alone.send_to(1, 2), other = alone.send_to(2, 3);
  alone.queue.enqueue_eager(first);
  alone.network->has_room = true;
  alone.queue.enqueue_eager(second);
  CHECK_FALSE(second.complete());
  alone.queue.enqueue_eager(other);
  CHECK(other.complete());  // another rank's queue is empty
  CHECK(alone.queue.retry());
  CHECK(first.complete());
  CHECK(second.complete());
}

TEST_CASE("channel send queue: a synchronous send does not complete when it is sent") {
  Alone alone;
  Operation send = alone.send_to(1, 1);
  send.synchronous = true;
  send.number = 9;
  alone.queue.enqueue_eager(send);
  CHECK_FALSE(send.complete());
  REQUIRE(alone.network->sent.size() == 1);
  CHECK(alone.network->sent[0].header.flags == flag::kSynchronous);
  CHECK(alone.network->sent[0].header.number == 9);
}

TEST_CASE("channel send queue: only messages about offloaded channels are not owed") {
  Alone alone;
  alone.network->has_room = false;
  Header header;
  for (const Kind kind : {Kind::opened, Kind::recall, Kind::left}) {
    header.kind = kind;
    alone.queue.enqueue_control(1, header, std::vector<std::byte>(sizeof(Agreement)));
  }
  CHECK(alone.queue.blocked());
  CHECK_FALSE(alone.queue.owes());
  alone.queue.drop_agreements();
  alone.fin(2, 1);
  CHECK(alone.queue.owes());
  alone.network->has_room = true;
  CHECK(alone.queue.retry());
  CHECK(alone.kinds() == std::vector{Kind::left, Kind::fin});
}

TEST_CASE("channel send queue: messages that wait for a rank that ends come back, once") {
  Alone alone;
  alone.network->has_room = alone.network->has_room_for_moves = false;
  Operation plain = alone.send_to(1, 1), answered = alone.send_to(1, 2),
            moving = alone.send_to(1, 3), other = alone.send_to(2, 4);
  answered.synchronous = true;
  answered.number = 3;
  alone.queue.enqueue_eager(plain);
  alone.queue.enqueue_eager(answered);
  alone.queue.enqueue_eager(other);
  Step write;
  write.act = Act::write;
  write.bytes = 8;
  alone.queue.enqueue_move(moving, write);
  alone.peers.record_end(1, "");
  const SendQueue::Unsent unsent = alone.queue.remove(1);
  CHECK(unsent.sends == std::vector{&plain});
  CHECK(unsent.moves == std::vector{&moving});
  CHECK(alone.queue.remove(1).sends.empty());
  alone.fin(1, 3);  // is dropped
  alone.network->has_room = alone.network->has_room_for_moves = true;
  CHECK(alone.queue.retry());
  CHECK_FALSE(alone.queue.blocked());
  REQUIRE(alone.network->sent.size() == 1);
  CHECK(alone.network->sent[0].rank == 2);
  CHECK(alone.network->moved.empty());
}

}  // namespace scela::channel::test::send_queue_test
