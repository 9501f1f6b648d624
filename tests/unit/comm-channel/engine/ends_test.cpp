// Tests that a caller that never waits, and only asks again and again, is told that a rank of the
// node has ended.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm-channel/api/opening.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/messenger/messenger.h"
#include "tests/unit/comm-channel/recording_network.h"
#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace scela::channel::test::ends_test {
namespace {

using namespace std::chrono_literals;

struct Board {
  std::atomic<std::uint32_t> joined;
};

// Rank 0 of three. Rank 1 has ended without a word, and rank 2 is in this process.
struct Left {
  explicit Left(Threads threads) {
    ChannelOptions options;
    options.threads = threads;
    auto segment = shm::make_segment(shm::shape_for(3, options.eager.shm));
    REQUIRE(segment);
    const shm::test::Shared<Board> board;
    shm::test::Child other([&] {
      auto link = shm::join_node(*segment, 1);
      board->joined = 1;
      ::raise(SIGKILL);
      return 0;
    });
    auto link = shm::join_node(*segment, 0), third = shm::join_node(*segment, 2);
    REQUIRE(link);
    REQUIRE(third);
    shm::test::await(board->joined, 1);
    other.await_end();
    (*link)->settle();
    (*third)->settle();
    World world;
    world.size = 3;
    world.node_of = {0, 0, 0};
    channel = channel_over(world, options, Links{std::move(*link), nullptr, {}});
    world.rank = 2;
    another = channel_over(world, options, Links{std::move(*third), nullptr, {}});
    other.wait();
  }
  std::unique_ptr<Channel> channel, another;
};

// Asks until `asked` returns true. Only a wrong answer makes this last long.
template <class Asked>
void ask_until(Asked asked) {
  const auto enough = std::chrono::steady_clock::now() + 20s;
  while (!asked() && std::chrono::steady_clock::now() < enough)
    std::this_thread::yield();
}

// Returns a network to rank 1, on another node, that carries messages and no bulk data.
std::unique_ptr<RecordingNetwork> without_moves() {
  auto network = std::make_unique<RecordingNetwork>();
  network->has_room_for_moves = false;
  return network;
}

template <class Body>
std::vector<std::byte> copy_of(const Body& body) {
  const auto bytes = bytes_of(body);
  return {bytes.begin(), bytes.end()};
}

void must_name_it(const Status& status) {
  CHECK(status.code() == Code::peer_ended);
  CHECK(status.rank() == 1);
  CHECK(status.message() == "rank 1 has ended");
}

}  // namespace

// Rank 2 lives, but is not of the group of ranks 1 and 0.
TEST_CASE(
    "channel ends: a receive from any rank of a group fails once none of its others is left") {
  for (const Threads threads : {Threads::single, Threads::multiple}) {
    const Left left(threads);
    Channel& channel = *left.channel;
    const auto pair = std::make_shared<const RankGroup>(std::vector<int>{1, 0}, 0, 3);
    const auto turned = std::make_shared<const RankGroup>(std::vector<int>{2, 1, 0}, 0, 3);
    std::array<std::byte, 4> bytes{};
    Request any = channel.irecv(kAnySource, 1, bytes, 5);
    Inside::set_group(any, pair);
    Request kept = channel.recv_init(kAnySource, 1, bytes, 5);
    Inside::set_group(kept, pair);
    Request of_three = channel.irecv(kAnySource, 1, bytes, 6);
    Inside::set_group(of_three, turned);
    Request named = channel.irecv(1, 1, bytes, 5);
    Inside::set_group(named, pair);
    for (int round = 0; round < 2; ++round) {
      REQUIRE(kept.start().ok());
      const Status failed = kept.wait(20s);
      CHECK(failed.code() == Code::peer_ended);
      CHECK(failed.rank() == -1);
    }
    CHECK(any.wait(20s).code() == Code::peer_ended);
    const Status gone = named.wait(20s);
    CHECK(gone.code() == Code::peer_ended);
    CHECK(gone.rank() == 0);
    CHECK(Inside::probe(channel, kAnySource, 1, 5, 20s, pair).code() == Code::peer_ended);
    CHECK(Inside::iprobe(channel, kAnySource, 1, 5, pair)->code() == Code::peer_ended);
    CHECK_FALSE(Inside::iprobe(channel, kAnySource, 1, 6, turned));
    CHECK_FALSE(of_three.test());
    CHECK(left.another->send(0, 1, bytes, 6).ok());
    const Status came = of_three.wait(20s);
    CHECK(came.ok());
    CHECK(came.source() == 0);
  }
}

TEST_CASE("channel ends: a receive that is only tested ends with the name of the rank") {
  for (const Threads threads : {Threads::single, Threads::multiple}) {
    const Left left(threads);
    std::vector<std::byte> got(8);
    Request receive = left.channel->irecv(1, 1, got);
    bool over = false;
    ask_until([&] { return over = receive.test(); });
    REQUIRE(over);
    must_name_it(receive.status());
  }
}

TEST_CASE("channel ends: a receive that is waited for without any time ends, too") {
  for (const Threads threads : {Threads::single, Threads::multiple}) {
    const Left left(threads);
    std::vector<std::byte> got(8);
    Request receive = left.channel->irecv(1, 1, got);
    Status status;
    ask_until([&] { return (status = receive.wait(0ns)).code() != Code::timed_out; });
    must_name_it(status);
  }
}

TEST_CASE("channel ends: a rank that only makes progress hears of an end") {
  const Left left(Threads::single);
  ask_until([&] {
    left.channel->progress();
    return left.channel->has_exited(1);
  });
  CHECK(left.channel->has_exited(1));
  CHECK_FALSE(left.channel->has_exited(0));
  CHECK_FALSE(left.channel->has_exited(2));
}

TEST_CASE("channel ends: probes and receives from a dead rank are errors") {
  const Left left(Threads::single);
  std::optional<Status> seen;
  ask_until([&] { return (seen = left.channel->iprobe(1, 1)).has_value(); });
  REQUIRE(seen);
  must_name_it(*seen);
  std::optional<ProbedMessage> message = left.channel->improbe(1, 1);
  REQUIRE(message);
  must_name_it(message->status());
  std::vector<std::byte> got(8);
  Request receive = left.channel->imrecv(std::move(*message), got);
  CHECK(receive.test());
  must_name_it(receive.status());
  CHECK_FALSE(left.channel->iprobe(kAnySource, 1).has_value());
  CHECK(left.channel->improbe(1, -7)->status().code() == Code::bad_tag);
}

TEST_CASE("channel ends: bytes that wait for room to be moved end with their rank") {
  World world;
  world.size = world.nodes = 2;
  world.node_of = {0, 1};
  const ChannelOptions options;
  auto made = without_moves();
  RecordingNetwork& network = *made;
  Messenger messenger(world, options, nullptr, std::move(made));
  std::vector<std::byte> got(100'000), given(100'000);
  Operation& receive = messenger.receive_operation(1, 1, got, kWorld);
  messenger.begin(receive);
  Operation& send = messenger.send_operation(1, 2, given, kWorld);
  messenger.begin(send);
  REQUIRE(network.sent.size() == 1);
  REQUIRE(network.sent[0].header.kind == Kind::rts);
  Header offered, ready;
  offered.kind = Kind::rts;
  offered.number = 7;
  offered.tag = 1;
  ready.kind = Kind::cts;
  ready.number = network.sent[0].header.number;
  Rts offer;
  offer.length = got.size();
  offer.ways = way::kRead | way::kWrite;
  Cts where;
  where.length = given.size();
  where.way = way::kWrite;
  where.number = 8;
  network.arriving = {{offered, copy_of(offer)}, {ready, copy_of(where)}};
  messenger.poll();
  REQUIRE_FALSE(receive.complete());
  REQUIRE_FALSE(send.complete());
  messenger.ended(1);
  for (Operation* const one : {&receive, &send}) {
    REQUIRE(one->complete());
    must_name_it(one->status);
    messenger.release(*one);
  }
}

// The channel would wait for such an answer when it closes.
TEST_CASE("channel ends: an answer to a rank that has ended is not kept for it") {
  World world;
  world.size = world.nodes = 2;
  world.node_of = {0, 1};
  const ChannelOptions options;
  auto made = without_moves();
  RecordingNetwork& network = *made;
  Messenger messenger(world, options, nullptr, std::move(made));
  Header offered;
  offered.kind = Kind::rts;
  offered.number = 7;
  offered.tag = 1;
  Rts offer;
  offer.length = 100'000;
  offer.ways = way::kRead | way::kWrite;
  network.arriving = {{offered, copy_of(offer)}};
  messenger.poll();
  Unexpected* const message = messenger.take({kWorld, 1, 1});
  REQUIRE(message != nullptr);
  messenger.ended(1);
  network.has_room = false;
  messenger.drop(*message);
  CHECK_FALSE(messenger.owes());
  CHECK_FALSE(messenger.blocked());
}

// No launcher reports a death here, and no connection breaks.
TEST_CASE("channel ends: a rank that the program reports as ended ends all that waits for it") {
  for (const Threads threads : {Threads::single, Threads::multiple}) {
    World world;
    world.size = 3;
    world.nodes = 2;
    world.node_of = {0, 1, 1};
    ChannelOptions options;
    options.threads = threads;
    const auto channel = channel_over(world, options, Links{nullptr, without_moves(), {}});
    std::vector<std::byte> got(8), given(100'000);
    Request receive = channel->irecv(1, 1, got), other = channel->irecv(2, 1, got);
    for (const int none : {-1, 3})
      channel->mark_exited(none);
    REQUIRE_FALSE(receive.test());
    channel->mark_exited(1);
    REQUIRE(channel->has_exited(1));
    CHECK_FALSE(channel->has_exited(2));
    REQUIRE(receive.test());
    must_name_it(receive.status());
    must_name_it(channel->recv(1, 1, got));
    must_name_it(channel->send(1, 2, given));
    CHECK_FALSE(other.test());
    CHECK(other.cancel());
  }
}

// The ranks were never connected, so only the launcher can tell that one has ended.
TEST_CASE("channel ends: the launcher is asked about the end only of ranks that are waited for") {
  for (const bool probes : {false, true}) {
    World world;
    world.size = 4;
    world.nodes = 2;
    world.node_of = {0, 1, 1, 1};
    std::vector<int> asked;
    auto made = without_moves();
    made->has_connection = [](int) { return false; };
    // The first question makes the launcher ask the node of that rank.
    const auto channel = channel_over(world, ChannelOptions(),
                                      Links{nullptr, std::move(made), {}, [&](int rank) {
                                              asked.push_back(rank);
                                              return rank == 1 && std::ranges::count(asked, 1) == 2;
                                            }});
    std::vector<std::byte> got(8);
    Request any = channel->irecv(kAnySource, 1, got), other = channel->irecv(3, 1, got);
    Request receive = probes ? Request() : channel->irecv(1, 1, got);
    std::optional<Status> seen;
    ask_until([&] {
      if (probes)
        seen = channel->iprobe(1, 1);
      else if (receive.test())
        seen = receive.status();
      return seen.has_value();
    });
    REQUIRE(seen);
    must_name_it(*seen);
    CHECK(std::ranges::count(asked, 2) == 0);
    CHECK(std::ranges::count(asked, 3) != 0);
    CHECK_FALSE(channel->has_exited(3));
    CHECK_FALSE(other.test());
    CHECK(other.cancel());
    CHECK(any.cancel());
  }
}

TEST_CASE("channel ends: a rank that is connected tells of its end, and nothing is asked") {
  World world;
  world.size = world.nodes = 2;
  world.node_of = {0, 1};
  Messenger messenger(world, ChannelOptions(), nullptr, without_moves());
  std::vector<std::byte> got(8);
  Operation& receive = messenger.receive_operation(1, 1, got, kWorld);
  messenger.begin(receive);
  CHECK_FALSE(messenger.notice_leavers([](int) { return true; }));
  CHECK_FALSE(receive.complete());
  CHECK(messenger.cancel(receive));
  messenger.release(receive);
}

TEST_CASE("channel ends: a rank that always has messages to move hears of an end, too") {
  const Left left(Threads::single);
  std::vector<std::byte> got(8), ours(8);
  Request receive = left.channel->irecv(1, 1, got);
  bool over = false;
  ask_until([&] {
    Request more = left.channel->irecv(2, 2, ours);
    static_cast<void>(left.another->send(0, 2, ours));
    return over = receive.test();
  });
  REQUIRE(over);
  must_name_it(receive.status());
}

}  // namespace scela::channel::test::ends_test
