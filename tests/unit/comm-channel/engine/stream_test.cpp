// Tests messages in parts: what happens between two parts of one message.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>

#include "tests/unit/comm-channel/channel_ranks.h"

namespace scela::channel::test::stream_test {
namespace {

// A message that is longer than the room in a rank's part of the node's memory.
constexpr std::size_t kLong = 300'000;

ChannelOptions in_parts() {
  ChannelOptions options;
  options.fragmented_shm = kMaxFragmentedShm;
  return options;
}

// The sender has stopped because it has no room, and the receiver has taken a part of the message.
struct Begun {
  Ranks ranks{2, in_parts()};
  Data sent = data_of(kLong, 3);
  Operation& send = ranks.send(0, 1, 7, sent);

  Begun() {
    ranks[1].poll();
    REQUIRE(ranks[0].blocked());
    REQUIRE_FALSE(send.complete());
  }
  void sender_ends() {
    ranks.link(1).deaths().record(0);
    ranks[1].notice_ends();
  }
};

TEST_CASE(
    "channel parts: a message that is longer than there is room for arrives whole, and what "
    "is sent behind it stays behind it") {
  const bool late = GENERATE(false, true);
  Ranks ranks(2, in_parts());
  const Data large = data_of(kLong, 1), small = data_of(8, 2);
  Data first(kLong), second(8);
  const auto receive = [&](Data& to) { return &ranks.receive(1, 0, 1, to); };
  Operation* one = late ? nullptr : receive(first);
  Operation& sending = ranks.send(0, 1, 1, large);
  Operation& behind = ranks.send(0, 1, 1, small);
  CHECK_FALSE(sending.complete());
  CHECK_FALSE(behind.complete());
  ranks.settle();
  CHECK(sending.complete());  // before a receive, too
  CHECK(behind.complete());
  if (late) one = receive(first);
  Operation* const two = receive(second);
  REQUIRE(one->complete());
  REQUIRE(two->complete());
  CHECK(one->status.bytes() == kLong);
  CHECK(first == large);
  CHECK(second == small);
}

TEST_CASE("channel parts: a receive that comes between two parts gets all of them") {
  Begun begun;
  Data got(kLong);
  Operation& receive = begun.ranks.receive(1, 0, 7, got);
  CHECK_FALSE(receive.complete());
  CHECK_FALSE(begun.ranks[1].cancel(receive));
  begun.ranks.settle();
  REQUIRE(receive.complete());
  CHECK(receive.status.ok());
  CHECK(receive.status.bytes() == kLong);
  CHECK(got == begun.sent);
  CHECK(begun.send.complete());
}

TEST_CASE("channel parts: a buffer that is too small is filled, and nothing behind it is touched") {
  const std::size_t room = GENERATE(0u, 1u, 2047u, 5000u, 299'999u);
  const bool late = GENERATE(false, true);
  Ranks ranks(2, in_parts());
  const Data sent = data_of(kLong, 3);
  Data got(kLong);
  const auto receive = [&] { return &ranks.receive(1, 0, 7, std::span(got).first(room)); };
  Operation* receiving = late ? nullptr : receive();
  ranks.send(0, 1, 7, sent);
  ranks[1].poll();
  if (late) receiving = receive();
  ranks.settle();
  REQUIRE(receiving->complete());
  CHECK(receiving->status.code() == Code::truncated);
  CHECK(receiving->status.bytes() == kLong);
  CHECK(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(room), sent.begin()));
  CHECK(std::all_of(got.begin() + static_cast<std::ptrdiff_t>(room), got.end(),
                    [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("channel parts: a sender that ends between two parts ends the receive, by its name") {
  const bool late = GENERATE(false, true);
  Begun begun;
  Data got(kLong);
  Operation* receive = late ? nullptr : &begun.ranks.receive(1, 0, 7, got);
  begun.sender_ends();
  if (late) receive = &begun.ranks.receive(1, kAnySource, 7, got);
  REQUIRE(receive->complete());
  CHECK(receive->status.code() == Code::peer_ended);
  CHECK(receive->status.rank() == 0);
}

TEST_CASE("channel parts: a receiver that ends between two parts ends the send, by its name") {
  Begun begun;
  begun.ranks.link(0).deaths().record(1);
  begun.ranks[0].notice_ends();
  REQUIRE(begun.send.complete());
  CHECK(begun.send.status.code() == Code::peer_ended);
  CHECK(begun.send.status.rank() == 1);
  CHECK_FALSE(begun.ranks[0].blocked());
}

TEST_CASE(
    "channel parts: a message that is taken between two parts is received, or dropped, as "
    "any other") {
  const bool dropped = GENERATE(false, true);
  Begun begun;
  Unexpected* const taken = begun.ranks[1].take({kWorld, 0, 7});
  REQUIRE(taken != nullptr);
  CHECK(taken->envelope.length == kLong);
  Data got(kLong), next(8);
  Operation& receive = begun.ranks[1].receive_operation(0, 7, got, kWorld);
  if (dropped) {
    begun.ranks[1].drop(*taken);
    begun.ranks.settle();
  } else {
    begun.ranks.settle();
    begun.ranks[1].receive(receive, *taken);
    REQUIRE(receive.complete());
    CHECK(got == begun.sent);
  }
  CHECK(begun.send.complete());
  const Data small = data_of(8, 9);
  Operation& after = begun.ranks.receive(1, 0, 7, next);
  begun.ranks.send(0, 1, 7, small);
  begun.ranks.settle();
  CHECK(after.complete());
  CHECK(next == small);
}

TEST_CASE(
    "channel parts: a synchronous message is not complete before it is matched, however long "
    "it is") {
  Ranks ranks(2, in_parts());
  const Data sent = data_of(kLong, 3);
  Operation& send = ranks.send(0, 1, 7, sent, kWorld, true);
  ranks.settle();
  CHECK_FALSE(send.complete());
  Data got(kLong);
  Operation& receive = ranks.receive(1, 0, 7, got);
  ranks.settle();
  CHECK(send.complete());
  CHECK(receive.complete());
  CHECK(got == sent);
}

}  // namespace
}  // namespace scela::channel::test::stream_test
