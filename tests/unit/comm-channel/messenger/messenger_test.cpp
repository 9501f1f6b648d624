// Tests messages between ranks of a node: order, sizes, late receivers, ends.
#include "comm-channel/messenger/messenger.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "common/core/random.h"
#include "tests/unit/comm-channel/channel_ranks.h"

namespace scela::channel::test::messenger_test {
namespace {

TEST_CASE(
    "channel: messages of every size arrive whole, whether their receives come before or after") {
  Ranks ranks(2);
  for (const std::size_t size : {0u, 1u, 8u, 24u, 25u, 64u, 4095u, 4096u, 4097u, 65536u, 3000001u})
    for (const bool late : {false, true}) {
      const Data sent = data_of(size, 3);
      Data got(size);
      Operation* receive = late ? nullptr : &ranks.receive(1, 0, 7, got);
      Operation& send = ranks.send(0, 1, 7, sent);
      ranks.settle();
      if (late) receive = &ranks.receive(1, 0, 7, got);
      ranks.settle();
      REQUIRE(receive->complete());
      REQUIRE(send.complete());
      CHECK(receive->status.ok());
      CHECK(receive->status.source() == 0);
      CHECK(receive->status.tag() == 7);
      CHECK(receive->status.bytes() == size);
      CHECK(got == sent);
      ranks[0].release(send);
      ranks[1].release(*receive);
    }
}

TEST_CASE("channel: a message to oneself, of every size, before its receive and after") {
  Ranks ranks(1);
  for (const std::size_t size : {0u, 8u, 4096u, 4097u, 100000u})
    for (const bool late : {false, true}) {
      const Data sent = data_of(size, 5);
      Data got(size);
      Operation* receive = late ? nullptr : &ranks.receive(0, kAnySource, kAnyTag, got);
      Operation& send = ranks.send(0, 0, 9, sent);
      if (late) {
        CHECK(send.complete() == (size <= 4096));  // a large one stays with its sender
        receive = &ranks.receive(0, 0, 9, got);
      }
      CHECK(send.complete());
      REQUIRE(receive->complete());
      CHECK(receive->status.tag() == 9);
      CHECK(got == sent);
      ranks[0].release(send);
      ranks[0].release(*receive);
    }
}

TEST_CASE("channel: a sender that does not wait loses nothing, and its order stays") {
  Ranks ranks(2);
  constexpr int kMessages = 5000;
  std::vector<std::uint32_t> numbers(kMessages);
  std::vector<Operation*> sends;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    numbers[i] = i;
    sends.push_back(&ranks.send(0, 1, 1, std::as_bytes(std::span(&numbers[i], 1))));
  }
  CHECK(ranks[0].blocked());
  ranks.settle();
  for (Operation* const send : sends)
    CHECK(send->complete());
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    std::uint32_t got = 0;
    Operation& receive = ranks.receive(1, 0, 1, std::as_writable_bytes(std::span(&got, 1)));
    REQUIRE(receive.complete());
    REQUIRE(got == i);
    ranks[1].release(receive);
  }
}

TEST_CASE(
    "channel: a sender that waits for room is told when its message left, and does not sleep") {
  Ranks ranks(2);
  const Data data = data_of(8, 1);
  Operation* last = nullptr;
  while (!ranks[0].blocked())
    last = &ranks.send(0, 1, 1, data);
  CHECK_FALSE(last->complete());
  CHECK(ranks[0].poll() == 0);
  while (ranks[1].poll() != 0) {
  }
  CHECK_FALSE(last->complete());
  CHECK(ranks[0].poll() != 0);
  CHECK(last->complete());
  CHECK(ranks[0].poll() == 0);
}

TEST_CASE("channel: a small message does not overtake a large one that waits for its receive") {
  Ranks ranks(2);
  const Data large = data_of(100000, 1), small = data_of(4, 2);
  Operation& first = ranks.send(0, 1, 1, large);
  Operation& second = ranks.send(0, 1, 1, small);
  ranks.settle();
  CHECK_FALSE(first.complete());
  CHECK(second.complete());
  Data a(100000), b(100000);
  Operation& one = ranks.receive(1, kAnySource, kAnyTag, a);
  Operation& two = ranks.receive(1, kAnySource, kAnyTag, b);
  ranks.settle();
  CHECK(first.complete());
  CHECK(one.status.bytes() == large.size());
  CHECK(a == large);
  CHECK(two.status.bytes() == small.size());
}

TEST_CASE("channel: contexts do not meet") {
  Ranks ranks(2);
  Data got(4);
  Operation& receive = ranks.receive(1, kAnySource, kAnyTag, got, 5);
  const Data other = data_of(4, 1), right = data_of(4, 2);
  ranks.send(0, 1, 1, other, 6);
  ranks.settle();
  CHECK_FALSE(receive.complete());
  ranks.send(0, 1, 1, right, 5);
  ranks.settle();
  CHECK(receive.complete());
  CHECK(got == right);
}

TEST_CASE(
    "channel: a message that is longer than its buffer fills it, and its receiver alone hears of "
    "it") {
  Ranks ranks(2);
  for (const std::size_t size : {100u, 50000u}) {
    const Data sent = data_of(size, 4);
    Data got(60, std::byte{0xee});
    Operation& receive = ranks.receive(1, 0, 1, std::span(got).first(50));
    Operation& send = ranks.send(0, 1, 1, sent);
    ranks.settle();
    REQUIRE(receive.complete());
    CHECK(receive.status.code() == Code::truncated);
    CHECK(receive.status.bytes() == size);
    CHECK_THAT(receive.status.message(), Catch::Contains("larger buffer"));
    CHECK(std::equal(got.begin(), got.begin() + 50, sent.begin()));
    CHECK(got[50] == std::byte{0xee});
    CHECK(send.complete());
    CHECK(send.status.ok());
  }
}

TEST_CASE("channel: a synchronous send is complete when its message is matched, not before") {
  Ranks ranks(2);
  const Data sent = data_of(8, 4);
  Data got(8);
  for (const int to : {0, 1}) {
    Operation& send = ranks.send(0, to, 1, sent, kWorld, true);
    ranks.settle();
    CHECK_FALSE(send.complete());
    Operation& receive = ranks.receive(to, 0, 1, got);
    ranks.settle();
    CHECK(send.complete());
    CHECK(receive.complete());
  }
}

TEST_CASE("channel: a message in a discarded context is dropped, and frees its sender") {
  Ranks ranks(2);
  const Data small = data_of(8, 1), large = data_of(90000, 2);
  Data first(8), other(8);
  Operation& posted = ranks.receive(1, 0, 1, first, 5);
  std::vector<Operation*> sends{&ranks.send(0, 1, 2, large, 5),
                                &ranks.send(0, 1, 2, small, 5, true)};
  ranks.settle();
  CHECK_FALSE(sends[0]->complete());
  ranks[1].discard(5);
  ranks[1].discard(5);
  for (const Data* const data : {&small, &large, &small})  // a receive is posted for the first
    sends.push_back(&ranks.send(0, 1, 1, *data, 5, true));
  sends.push_back(&ranks.send(1, 1, 1, small, 5, true));
  ranks.send(0, 1, 1, small, 4);
  ranks.settle();
  for (const Operation* const send : sends) {
    CHECK(send->complete());
    CHECK(send->status.ok());
  }
  CHECK(posted.complete());
  CHECK(first == small);
  CHECK(ranks[1].probe({5, kAny, kAny}) == nullptr);
  Operation& right = ranks.receive(1, 0, 1, other, 4);
  ranks.settle();
  CHECK(right.complete());
  CHECK(other == small);
}

TEST_CASE("channel: a message in a context that is accepted again is kept") {
  Ranks ranks(2);
  const Data small = data_of(8, 1), large = data_of(90000, 2);
  std::vector<Operation*> thrown, kept;
  for (const Data* const data : {&small, &large})
    thrown.push_back(&ranks.send(0, 1, 1, *data, 1'000'007, true));
  ranks.settle();
  CHECK_FALSE(thrown[0]->complete());
  ranks[1].discard(5, 2'000'000);
  ranks.settle();
  ranks[1].accept(7, 1);
  for (const Context context : {6u, 7u, 8u})
    for (const Data* const data : {&small, &large})
      (context == 7 ? kept : thrown).push_back(&ranks.send(0, 1, 1, *data, context, true));
  ranks.settle();
  for (const Operation* const send : thrown)
    CHECK(send->complete());
  for (const Operation* const send : kept)
    CHECK_FALSE(send->complete());
  for (const Data* const data : {&small, &large}) {
    Data got(data->size());
    Operation& receive = ranks.receive(1, 0, 1, got, 7);
    ranks.settle();
    CHECK(receive.complete());
    CHECK(got == *data);
  }
  for (const Operation* const send : kept)
    CHECK(send->complete());
  CHECK(ranks[1].probe({8, kAny, kAny}) == nullptr);
}

// If a context is discarded, the cost does not grow with the messages that wait in other contexts,
// even with a million of them.
TEST_CASE("channel: messages of other contexts are not looked at for those that are discarded") {
  Ranks ranks(2);
  const Data small = data_of(8, 1);
  ranks[1].discard(5);
  for (int i = 0; i < 100; ++i)
    ranks.send(0, 1, i, small, 4);
  ranks.settle();
  CHECK(ranks[1].unwanted_looks() == 0);
  for (int i = 0; i < 10; ++i)
    ranks.send(0, 1, i, small, 5);
  ranks.settle();
  CHECK(ranks[1].unwanted_looks() == 10);
}

TEST_CASE("channel: a receive can be cancelled until a message has matched it") {
  Ranks ranks(2);
  Data got(8);
  const Data sent = data_of(8, 1);
  Operation& first = ranks.receive(1, 0, 1, got);
  Operation& second = ranks.receive(1, 0, 1, got);
  CHECK(ranks[1].cancel(first));
  CHECK(first.status.code() == Code::cancelled);
  ranks.send(0, 1, 1, sent);
  ranks.settle();
  CHECK(second.complete());
  CHECK_FALSE(ranks[1].cancel(second));
}

TEST_CASE("channel: a probed message is reserved, and its sender goes on if it is dropped") {
  Ranks ranks(2);
  const Data first = data_of(30000, 1), second = data_of(40000, 2);
  Operation& one = ranks.send(0, 1, 1, first);
  Operation& two = ranks.send(0, 1, 1, second);
  ranks.settle();
  const Unexpected* const seen = ranks[1].probe({kWorld, kAny, 1});
  REQUIRE(seen != nullptr);
  CHECK(seen->envelope.length == first.size());
  Unexpected* const taken = ranks[1].take({kWorld, kAny, 1});
  REQUIRE(taken != nullptr);
  Data got(40000);
  Operation& receive = ranks.receive(1, 0, 1, got);
  ranks.settle();
  CHECK(receive.complete());
  CHECK(got == second);
  CHECK(two.complete());
  CHECK_FALSE(one.complete());
  ranks[1].drop(*taken);
  ranks.settle();
  CHECK(one.complete());
}

TEST_CASE(
    "channel: messages of an ended rank can be received, and later receives fail by its name") {
  Ranks ranks(3);
  const Data small = data_of(8, 1), large = data_of(100000, 2);
  ranks.send(2, 0, 1, small);
  Data got(8), never(8), wild(8);
  Operation& waiting = ranks.receive(0, 2, 99, never);
  Operation& anybody = ranks.receive(0, kAnySource, 98, wild);
  Operation& offered = ranks.send(0, 2, 1, large);
  ranks.link(0).deaths().record(2);
  ranks[0].notice_ends();
  REQUIRE(waiting.complete());
  CHECK(waiting.status.code() == Code::peer_ended);
  CHECK(waiting.status.rank() == 2);
  REQUIRE(offered.complete());
  CHECK(offered.status.code() == Code::peer_ended);
  CHECK_FALSE(anybody.complete());
  Operation& late = ranks.receive(0, 2, 1, got);
  CHECK(late.complete());
  CHECK(late.status.ok());
  CHECK(got == small);
  CHECK(ranks.receive(0, 2, 1, got).status.code() == Code::peer_ended);
  CHECK(ranks.send(0, 2, 1, small).status.code() == Code::peer_ended);
  ranks.send(1, 0, 98, small);
  ranks.settle();
  CHECK(anybody.complete());
}

// Each message carries its sender, its tag, its size, and its number among the messages with its
// sender, receiver and tag.
struct Stamp {
  std::uint32_t source, tag, number, size;
};

TEST_CASE("channel: random messages of random sizes arrive whole, once, and in order") {
  ChannelOptions options;
  options.eager.shm = 512;
  constexpr int kRanks = 3, kTags = 3;
  const std::uint64_t seed = GENERATE(range(1, 9));
  Ranks ranks(kRanks, options);
  Random random(seed);
  std::map<std::array<int, 3>, std::uint32_t> sent, received;  // from, to, tag
  struct Under {
    int rank;
    Operation* operation;
    std::unique_ptr<Data> data;
  };
  std::deque<Under> sends, receives;
  // Receives that wait, less messages that were sent to the rank.
  std::array<int, kRanks> open{};
  const auto pick = [&](int below) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(below)));
  };
  const auto look = [&] {
    std::erase_if(sends, [&](Under& one) {
      if (!one.operation->complete()) return false;
      CHECK(one.operation->status.ok());
      ranks[one.rank].release(*one.operation);
      return true;
    });
  };
  const auto look_at_receives = [&] {
    // Among messages of one sender and tag, an earlier receive must have the earlier message.
    for (Under& one : receives) {
      if (one.operation == nullptr || !one.operation->complete()) continue;
      const Status status = one.operation->status;
      REQUIRE(status.ok());
      Stamp stamp{};
      std::memcpy(&stamp, one.data->data(), sizeof stamp);
      CHECK(stamp.source == static_cast<std::uint32_t>(status.source()));
      CHECK(stamp.tag == static_cast<std::uint32_t>(status.tag()));
      REQUIRE(stamp.size == status.bytes());
      const Data whole = data_of(stamp.size, stamp.number);
      CHECK(
          std::equal(whole.begin() + sizeof stamp, whole.end(), one.data->begin() + sizeof stamp));
      CHECK(received[{status.source(), one.rank, status.tag()}]++ == stamp.number);
      ranks[one.rank].release(*one.operation);
      one.operation = nullptr;
    }
    std::erase_if(receives, [](const Under& one) { return one.operation == nullptr; });
  };
  for (int step = 0; step < 4000; ++step) {
    const int rank = pick(kRanks);
    switch (pick(4)) {
      case 0: {
        const int to = pick(kRanks), tag = pick(kTags);
        const std::size_t size =
            sizeof(Stamp) + static_cast<std::size_t>(pick(pick(8) == 0 ? 20000 : 700));
        const std::uint32_t number = sent[{rank, to, tag}]++;
        auto data = std::make_unique<Data>(data_of(size, number));
        const Stamp stamp{static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(tag), number,
                          static_cast<std::uint32_t>(size)};
        std::memcpy(data->data(), &stamp, sizeof stamp);
        Operation& operation = ranks.send(rank, to, tag, *data, kWorld, pick(5) == 0);
        sends.push_back({rank, &operation, std::move(data)});
        --open[static_cast<std::size_t>(to)];
        break;
      }
      case 1: {
        // Each rank posts wildcard receives only, so that all of them complete in the end.
        auto data = std::make_unique<Data>(21000);
        Operation& operation = ranks.receive(rank, kAnySource, kAnyTag, *data);
        receives.push_back({rank, &operation, std::move(data)});
        ++open[static_cast<std::size_t>(rank)];
        break;
      }
      default:
        ranks[rank].poll();
    }
    look();
    look_at_receives();
  }
  for (int rank = 0; rank < kRanks; ++rank)
    for (; open[static_cast<std::size_t>(rank)] < 0; ++open[static_cast<std::size_t>(rank)]) {
      auto data = std::make_unique<Data>(21000);
      Operation& operation = ranks.receive(rank, kAnySource, kAnyTag, *data);
      receives.push_back({rank, &operation, std::move(data)});
    }
  ranks.settle();
  look();
  look_at_receives();
  CHECK(sends.empty());
  CHECK(received == sent);
}

}  // namespace
}  // namespace scela::channel::test::messenger_test
