// Tests messages in fragments at their receiver, fragment by fragment.
#include "comm-channel/messenger/reassembler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>

#include "tests/unit/comm-channel/channel_ranks.h"
#include "tests/unit/comm-channel/recording_network.h"

namespace scela::channel::test::reassembler_test {
namespace {

constexpr std::size_t kLength = 5000;

// The parts by which rank 0 receives a message with tag 7 of rank 1, in fragments of 2000 bytes.
struct Coming {
  World world = apart(2);
  Peers peers{world, true};
  Transports transports{peers, nullptr, nullptr};
  Matcher matcher;
  GuardedCopy guarded_copy;
  UnexpectedStore unexpected{matcher};
  ReceiveCompletion completion{peers, guarded_copy};
  Reassembler reassembler{2, transports, matcher, unexpected, completion};
  Data sent = data_of(kLength, 3);
  Data got = Data(kLength);
  Operation receive;

  void post(std::size_t room) {
    receive.pattern = {kWorld, 1, 7};
    receive.to = got.data();
    receive.room = room;
    receive.phase = Phase::waiting;
    REQUIRE(matcher.post(receive) == nullptr);
  }
  void first(std::uint32_t length = kLength) {
    Header header;
    header.kind = Kind::first_part;
    header.tag = 7;
    header.number = length;
    reassembler.on_first_fragment(1, header, std::span(sent).first(2000));
  }
  void second() { reassembler.on_fragment(1, std::span(sent).subspan(2000, 2000)); }
  void last() { reassembler.on_fragment(1, std::span(sent).subspan(4000)); }
  UnexpectedMessage& taken() {
    Unexpected* const message = matcher.take({kWorld, 1, 7});
    REQUIRE(message != nullptr);
    return static_cast<UnexpectedMessage&>(*message);
  }
};

}  // namespace

TEST_CASE("channel reassembler: a posted receive completes with the last fragment") {
  Coming coming;
  coming.post(kLength);
  coming.first();
  coming.second();
  CHECK_FALSE(coming.receive.complete());
  coming.last();
  REQUIRE(coming.receive.complete());
  CHECK(coming.receive.status.ok());
  CHECK(coming.receive.status.bytes() == kLength);
  CHECK(coming.got == coming.sent);
  CHECK(coming.peers.counters(1).bytes_received == kLength);
}

TEST_CASE("channel reassembler: a receive that comes between two fragments gets all of them") {
  Coming coming;
  coming.first();
  coming.second();
  UnexpectedMessage& message = coming.taken();
  CHECK(message.missing == 1000);
  coming.receive.to = coming.got.data();
  coming.receive.room = kLength;
  coming.receive.phase = Phase::waiting;
  coming.reassembler.attach(coming.receive, message);
  coming.unexpected.recycle(message);
  CHECK_FALSE(coming.receive.complete());
  coming.last();
  REQUIRE(coming.receive.complete());
  CHECK(coming.got == coming.sent);
}

TEST_CASE("channel reassembler: a buffer that is too small is filled, and no byte is put behind") {
  Coming coming;
  coming.post(2500);
  coming.first();
  coming.second();
  coming.last();
  REQUIRE(coming.receive.complete());
  CHECK(coming.receive.status.code() == Code::truncated);
  CHECK(coming.peers.counters(1).bytes_received == 2500);
  CHECK(std::equal(coming.got.begin(), coming.got.begin() + 2500, coming.sent.begin()));
  CHECK(std::ranges::all_of(std::span(coming.got).subspan(2500),
                            [](std::byte one) { return one == std::byte{}; }));
}

TEST_CASE(
    "channel reassembler: the fragments of a message that is ignored do not disturb the next") {
  Coming coming;
  coming.first();
  UnexpectedMessage& message = coming.taken();
  coming.reassembler.ignore(message);
  coming.unexpected.recycle(message);
  coming.second();
  coming.last();
  coming.post(kLength);
  coming.first();
  coming.second();
  coming.last();
  REQUIRE(coming.receive.complete());
  CHECK(coming.got == coming.sent);
}

TEST_CASE("channel reassembler: fragments that no correct sender sends are ignored") {
  Coming coming;
  coming.last();  // there is no message
  coming.first(kMaxFragmentedShm + 1);
  CHECK(coming.matcher.take({kWorld, 1, 7}) == nullptr);
  coming.post(kLength);
  coming.first();
  coming.first();  // the message before is not complete
  coming.second();
  coming.second();  // more bytes than the message has left
  CHECK_FALSE(coming.receive.complete());
  coming.last();
  REQUIRE(coming.receive.complete());
  CHECK(coming.got == coming.sent);
}

TEST_CASE("channel reassembler: the end of the sender ends the receive, and later ones") {
  Coming coming;
  coming.post(kLength);
  coming.first();
  coming.reassembler.end(1);
  REQUIRE(coming.receive.complete());
  CHECK(coming.receive.status.code() == Code::peer_ended);
  CHECK(coming.receive.status.rank() == 1);
  Coming kept;
  kept.first();
  kept.reassembler.end(1);
  UnexpectedMessage& message = kept.taken();
  kept.reassembler.attach(kept.receive, message);
  CHECK(kept.receive.status.code() == Code::peer_ended);
}

}  // namespace scela::channel::test::reassembler_test
