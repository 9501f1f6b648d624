// Tests one wait for several requests: operations, and messages of a channel. The ranks of such a
// channel are this process, or threads of it.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm-channel/api/opening.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"
#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::waits_test {
namespace {

using namespace std::chrono_literals;

// Makes a communicator over the same network, with contexts of its own.
Communicator another(MemoryNetwork& network, const Communicator& world, ProgressMode progress) {
  CommunicatorMaker maker;
  maker.transport = [&network, rank = world.rank()] { return network.transport(rank); };
  maker.rank = world.rank();
  maker.nodes.assign(static_cast<std::size_t>(world.size()), 0);
  maker.first_context = 0x9000'0000;
  maker.options.progress = progress;
  return maker.make();
}

std::span<const std::byte> bytes_of(const int& number) {
  return std::as_bytes(std::span(&number, 1));
}
std::span<std::byte> bytes_of(int& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

// Returns whether two statuses are equal in all that a program can see.
bool alike(const Status& left, const Status& right) {
  return left.code() == right.code() && left.rank() == right.rank() &&
         left.message() == right.message() && left.source() == right.source() &&
         left.tag() == right.tag() && left.bytes() == right.bytes();
}

TEST_CASE("waits: operations of several executors are found by one wait") {
  for (const ProgressMode first : kAllProgressModes) {
    for (const ProgressMode second : kAllProgressModes) {
      MemoryNetwork network(3, 5);
      network.deliver_in_waits();
      CHECK(everyone(network, {.ranks = 3, .progress = first},
                     [&](Communicator& world) -> std::string {
                       Communicator other = another(network, world, second);
                       for (int round = 0; round < 20; ++round) {
                         const std::array<int, 1> one{round};
                         const std::array<int, 1> two{round + world.rank()};
                         std::array<int, 1> of_one{};
                         std::array<int, 1> of_two{};
                         std::array<Request, 2> requests{
                             world.start(Collective::allreduce(one, of_one, ReduceOp::sum)),
                             other.start(Collective::allreduce(two, of_two, ReduceOp::sum))};
                         Request* const both[] = {&requests[0], &requests[1]};
                         for (int found = 0; found < 2; ++found) {
                           const std::size_t at = wait_any(both);
                           if (at == 2) return "none was found";
                           if (const Status status = requests.at(at).wait(); !status.ok())
                             return status.message();
                         }
                         if (of_one[0] != 3 * round || of_two[0] != 3 * round + 3)
                           return "another sum";
                         if (wait_any(both) != 2) return "one was found twice";
                         // Waits for all of a given set of requests.
                         requests = {world.start(Collective::barrier()),
                                     other.start(Collective::barrier())};
                         Request* const all[] = {&requests[1], nullptr, &requests[0]};
                         if (!wait_all(all)) return "not all are over";
                         for (Request& request : requests)
                           if (const Status status = request.wait(0ns); !status.ok())
                             return status.message();
                       }
                       return "";
                     }) == "");
    }
  }
}

TEST_CASE("waits: requests that cannot complete are passed over") {
  CHECK(wait_any(std::span<Request>()) == 0);
  CHECK(wait_any(std::span<Request* const>()) == 0);
  CHECK(wait_all(std::span<Request>()));
  CHECK(wait_all(std::span<Request* const>()));
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread}) {
    MemoryNetwork network(2, 5);
    network.deliver_in_waits();
    CHECK(everyone(network, {.ranks = 2, .progress = by}, [](Communicator& world) -> std::string {
            Request nothing;
            Request prepared = world.prepare(Collective::barrier());
            Request over = world.start(Collective::barrier());
            if (const Status status = over.wait(); !status.ok()) return status.message();
            Request* const all[] = {nullptr, &nothing, &prepared, &over};
            if (wait_any(all) != 4) return "something is over";
            if (!wait_all(all)) return "something is under way";
            if (world.rank() == 0) {
              // Rank 1 starts its part only after rank 0 has found nothing complete.
              if (const Status status = prepared.start(); !status.ok()) return status.message();
              if (wait_any(all, 2ms) != 4) return "it has not ended";
              if (wait_all(all, 2ms)) return "it is under way";
            }
            if (const Status status = world.barrier(); !status.ok()) return status.message();
            if (world.rank() == 1)
              if (const Status status = prepared.start(); !status.ok()) return status.message();
            if (wait_any(all) != 2) return "it has ended";
            const Status status = prepared.wait();
            return status.ok() ? "" : status.message();
          }) == "");
  }
}

// Starts an operation that goes well and one that fails on both ranks, since rank 1 gives no
// buffer. Returns what is wrong; empty if nothing is.
std::string second_waits(Communicator& world) {
  const std::vector<int> own(8, 1);
  std::vector<int> sum(8), none(8);
  const ConstBuffer missing(nullptr, 8, sizeof(int), ElementType::int32);
  Request good = world.start(Collective::allreduce(own, sum, ReduceOp::sum));
  Request bad = world.start(
      Collective::allreduce(world.rank() == 1 ? missing : ConstBuffer(own), none, ReduceOp::sum));
  for (Request* const request : {&good, &bad}) {
    const Status first = request->wait();
    const Status second = request->wait(0ns);
    if (!alike(first, second)) return cat(first.message(), ", then ", second.message());
    if (!alike(first, request->status())) return cat("status: ", request->status().message());
    if (!request->test()) return "it is under way again";
  }
  if (const Status& status = good.status(); !status.ok()) return status.message();
  const Code expected = world.rank() == 1 ? Code::bad_buffer : Code::mismatch;
  if (bad.status().code() != expected || bad.status().rank() != 1) return bad.status().message();
  Request* const both[] = {&good, &bad};
  if (wait_any(both) != 2) return "one was found after its wait";
  return wait_all(both) ? "" : "not all are over";
}

// Waits with timeouts that the clock does not reach, and reads the status after test() alone.
std::string far_timeouts(Communicator& world) {
  const std::vector<int> own(8, 1);
  std::vector<int> sum(8);
  for (const Timeout far : {Timeout(std::chrono::nanoseconds::max()), Timeout(10000h)}) {
    Request request = world.start(Collective::allreduce(own, sum, ReduceOp::sum));
    if (const Status status = request.wait(far); !status.ok()) return status.message();
    Request other = world.start(Collective::barrier());
    Request* const one[] = {&other};
    if (wait_any(one, far) != 0) return "a wait for any has ended before the barrier";
    if (!wait_all(one, far)) return "a wait for all has ended before the barrier";
  }
  const ConstBuffer missing(nullptr, 8, sizeof(int), ElementType::int32);
  Request bad = world.start(Collective::allreduce(missing, sum, ReduceOp::sum));
  while (!bad.test()) {
  }
  return bad.status().code() == Code::bad_buffer ? "" : "the status after test() has no error";
}

TEST_CASE("waits: a timeout that the clock does not reach is none, and test() sets the status") {
  for (const ProgressMode by : kAllProgressModes)
    CHECK(everyone({.ranks = 2, .progress = by}, far_timeouts) == "");
}

TEST_CASE("waits: the second wait for an operation returns the same status as the first") {
  for (const ProgressMode by : kAllProgressModes)
    CHECK(everyone({.ranks = 2, .progress = by}, second_waits) == "");
}

TEST_CASE("waits: a prepared operation is found again each time that it was started") {
  for (const ProgressMode by : kAllProgressModes)
    CHECK(everyone({.ranks = 2, .progress = by}, [](Communicator& world) -> std::string {
            Request prepared = world.prepare(Collective::barrier());
            Request* const one[] = {&prepared};
            for (int round = 0; round < 3; ++round) {
              if (const Status status = prepared.start(); !status.ok()) return status.message();
              for (int time = 0; time < 2; ++time)
                if (wait_any(one) != 0) return "it was not found";
              for (int time = 0; time < 2; ++time)
                if (const Status status = prepared.wait(); !status.ok()) return status.message();
              if (wait_any(one) != 1) return "it was found after its wait";
            }
            return "";
          }) == "");
}

TEST_CASE("waits: a single rank waits for channel messages and operations together") {
  const Channel::Opened opened = Channel::open();
  REQUIRE(opened.channel);
  Channel& channel = *opened.channel;
  Communicator world = Communicator::world(channel);
  REQUIRE(world);
  int got = 0;
  Request message = channel.irecv(0, 1, bytes_of(got));
  Request idle = channel.recv_init(0, 2, {});
  Request* const some[] = {&idle, &message};
  CHECK(wait_any(some, 1ms) == 2);
  CHECK_FALSE(wait_all(some, 1ms));
  Request barrier = world.start(Collective::barrier());
  Request* const all[] = {&idle, &message, &barrier};
  CHECK(wait_any(all) == 2);
  CHECK(barrier.wait().ok());
  CHECK_FALSE(wait_all(all, 1ms));
  const int sent = 7;
  CHECK(channel.send(0, 1, bytes_of(sent)).ok());
  CHECK(wait_all(all));
  CHECK(wait_any(all) == 1);
  CHECK(got == 7);
  Request* const pointers[] = {nullptr, &idle, &message};
  CHECK(wait_any(pointers) == 2);
  CHECK(message.wait(0ns).bytes() == sizeof got);
  CHECK(wait_any(pointers) == 3);
  CHECK(wait_any(all) == 3);
  CHECK(wait_all(all));
}

// A wait for messages alone and a mixed one go different ways.
TEST_CASE("waits: a message is passed over after its wait, and found when it was started again") {
  const Channel::Opened opened = Channel::open();
  REQUIRE(opened.channel);
  Channel& channel = *opened.channel;
  Communicator world = Communicator::world(channel);
  REQUIRE(world);
  for (const bool mixed : {false, true}) {
    CAPTURE(mixed);
    int got = -1, never = 0;
    Request prepared = mixed ? world.prepare(Collective::barrier()) : Request();
    Request other = channel.irecv(0, 2, bytes_of(never));
    Request receive = channel.recv_init(0, 1, bytes_of(got));
    Request* const all[] = {&prepared, &other, &receive};
    CHECK(receive.wait().code() == Code::bad_request);
    for (int round = 0; round < 3; ++round) {
      REQUIRE(receive.start().ok());
      CHECK(wait_any(all, 1ms) == 3);
      const Status early = receive.wait(0ns);
      CHECK(early.code() == Code::timed_out);
      CHECK(channel.send(0, 1, bytes_of(round)).ok());
      // It is found until wait() has returned its status, whatever else was asked.
      CHECK(wait_any(all) == 2);
      CHECK(receive.test());
      CHECK(receive.status().ok());
      CHECK(wait_any(all) == 2);
      const Status first = receive.wait();
      CHECK(first.ok());
      CHECK(first.source() == 0);
      CHECK(first.tag() == 1);
      CHECK(first.bytes() == sizeof got);
      CHECK(got == round);
      CHECK(wait_any(all, 1ms) == 3);
      CHECK(alike(receive.wait(), first));
      CHECK(alike(receive.status(), first));
      CHECK(wait_any(all, 1ms) == 3);
    }
    CHECK(other.cancel());
    CHECK(wait_any(all) == 1);
    CHECK(other.wait().code() == Code::cancelled);
    CHECK(wait_any(all) == 3);
  }
}

// The channels of two ranks of a node, which are threads of this process.
struct Pair {
  std::array<std::unique_ptr<Channel>, 2> channels;

  explicit Pair(Threads threads) {
    ChannelOptions options;
    options.threads = threads;
    auto segment = channel::shm::make_segment(channel::shm::shape_for(2, options.eager.shm));
    REQUIRE(segment);
    std::array<channel::Links, 2> links;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto link = channel::shm::join_node(*segment, rank);
      REQUIRE(link);
      links.at(rank).node = std::move(*link);
    }
    for (channel::Links& own : links)
      own.node->settle();
    channel::World world;
    world.size = 2;
    world.node_of = {0, 0};
    for (std::size_t rank = 0; rank < 2; ++rank) {
      world.rank = static_cast<int>(rank);
      channels.at(rank) = channel::channel_over(world, options, std::move(links.at(rank)));
    }
  }
};

// Rank 1 does its part only when rank 0 has found nothing complete.
std::string all_in_time(Channel& channel, Communicator& world) {
  const int peer = 1 - channel.rank();
  const int sent = 5;
  int got = 0;
  if (channel.rank() == 1) {
    if (const Status status = channel.recv(peer, 3, {}); !status.ok()) return status.message();
    if (const Status status = world.barrier(); !status.ok()) return status.message();
    const Status status = channel.send(peer, 2, bytes_of(sent));
    return status.ok() ? "" : status.message();
  }
  Request receive = channel.irecv(peer, 2, bytes_of(got));
  Request barrier = world.start(Collective::barrier());
  Request* const both[] = {&receive, &barrier};
  if (wait_any(both, 2ms) != 2) return "one is over before its peer has begun";
  if (wait_all(both, 2ms)) return "all are over before their peer has begun";
  if (const Status status = channel.send(peer, 3, {}); !status.ok()) return status.message();
  if (!wait_all(both)) return "not all are over in the end";
  for (Request* const request : both)
    if (const Status status = request->wait(0ns); !status.ok()) return status.message();
  return got == sent ? "" : "another number";
}

std::string exchange(Channel& channel, ProgressMode progress) {
  CommunicatorOptions options;
  options.progress = progress;
  options.bind_thread = false;
  Communicator world = Communicator::world(channel, options);
  if (!world) return world.status().message();
  const int peer = 1 - channel.rank();
  for (int round = 0; round < 20; ++round) {
    const int sent = 10 * round + channel.rank();
    int got = -1;
    const std::array<int, 1> own{sent};
    std::array<int, 1> sum{};
    std::array<Request, 4> requests{
        channel.irecv(peer, 1, bytes_of(got)),
        world.start(Collective::allreduce(own, sum, ReduceOp::sum)),
        channel.issend(peer, 1, bytes_of(sent)),
        world.start(Collective::barrier()),
    };
    if (!wait_all(requests)) return "not all are over";
    std::size_t found = 0;
    for (; wait_any(requests) != requests.size(); ++found) {
      if (found == requests.size()) return "one was found twice";
      const Status status = requests.at(wait_any(requests)).wait(0ns);
      if (!status.ok()) return status.message();
    }
    if (found != requests.size()) return cat(found, " were found");
    if (got != 10 * round + peer || sum[0] != 20 * round + 1) return "other numbers";
  }
  return progress == ProgressMode::at_once ? "" : all_in_time(channel, world);
}

TEST_CASE("waits: messages and operations of two ranks are waited for together") {
  for (const ProgressMode by : kAllProgressModes) {
    CAPTURE(static_cast<int>(by));
    const Pair pair(by == ProgressMode::thread ? Threads::multiple : Threads::single);
    std::array<std::string, 2> wrong;
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] { wrong.at(rank) = exchange(*pair.channels.at(rank), by); });
    for (std::thread& thread : threads)
      thread.join();
    CHECK(wrong[0] == "");
    CHECK(wrong[1] == "");
  }
}

TEST_CASE("waits: a progress thread and a mode that is none are refused by what they lack") {
  const Channel::Opened opened = Channel::open();
  REQUIRE(opened.status.ok());
  CommunicatorOptions options;
  options.progress = ProgressMode::thread;
  const Communicator by_thread = Communicator::world(*opened.channel, options);
  CHECK(by_thread.status().code() == Code::bad_argument);
  CHECK_THAT(by_thread.status().message(), Catch::Contains("Threads::multiple"));
  options.progress = static_cast<ProgressMode>(55);
  CHECK(Communicator::world(*opened.channel, options).status().code() == Code::bad_argument);
}

TEST_CASE("waits: contexts are given out once") {
  const Channel::Opened opened = Channel::open();
  REQUIRE(opened.channel);
  Channel& channel = *opened.channel;
  const Context first = channel.reserve_contexts(10);
  CHECK(first >= 0x8000'0000);
  CHECK(channel.reserve_contexts(1) == first + 10);
  CHECK(channel.reserve_contexts(0x7fff'0000) == kWorld);
}

TEST_CASE("waits: threads that reserve contexts at once get different ones") {
  ChannelOptions options;
  options.threads = Threads::multiple;
  const Channel::Opened opened = Channel::open(options);
  REQUIRE(opened.channel);
  constexpr std::size_t kThreads = 4, kEach = 20'000;
  std::vector<Context> all(kThreads * kEach);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < kEach; ++i)
        all[thread * kEach + i] = opened.channel->reserve_contexts(1);
    });
  for (std::thread& thread : threads)
    thread.join();
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
  CHECK(all.back() - all.front() == all.size() - 1);
}

TEST_CASE("waits: numbers of communicators over a channel are reused, except living ones") {
  const Channel::Opened opened = Channel::open();
  REQUIRE(opened.channel);
  Channel& channel = *opened.channel;
  std::vector<Communicator> live;
  for (int made = 0; made < 5'000; ++made)
    REQUIRE(Communicator::world(channel));
  while (live.size() < 5'000) {
    Communicator one = Communicator::world(channel);
    if (!one) {
      CHECK(one.status().code() == Code::resources);
      CHECK(one.status().message().find("free one") != std::string::npos);
      break;
    }
    live.push_back(std::move(one));
  }
  CHECK(live.size() > 1'000);
  CHECK(live.size() < 5'000);
  live.pop_back();
  Communicator another = Communicator::world(channel);
  REQUIRE(another);
  CHECK(another.barrier().ok());
  CHECK_FALSE(Communicator::world(channel));
}

}  // namespace
}  // namespace scela::collectives::test::waits_test
