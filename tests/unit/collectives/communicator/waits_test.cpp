// Tests one wait for several requests, also with the messages of a channel that has no other
// process.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <span>
#include <thread>
#include <vector>

#include "collectives/include/scela/waits.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::waits_test {
namespace {

// Makes a communicator over the same network, with contexts of its own.
Communicator another(MemoryNetwork& network, const Communicator& world, RunBy run_by) {
  CommunicatorMaker maker;
  maker.transport = [&network, rank = world.rank()] { return network.transport(rank); };
  maker.rank = world.rank();
  maker.nodes.assign(static_cast<std::size_t>(world.size()), 0);
  maker.first_context = 0x9000'0000;
  maker.options.run_by = run_by;
  return maker.make();
}

TEST_CASE("waits: operations of several executors are found by one wait") {
  for (const RunBy first : kAllRunBy) {
    for (const RunBy second : kAllRunBy) {
      MemoryNetwork network(3, 5);
      network.deliver_in_waits();
      CHECK(
          everyone(network, {.ranks = 3, .run_by = first}, [&](Communicator& world) -> std::string {
            Communicator other = another(network, world, second);
            for (int round = 0; round < 20; ++round) {
              const std::array<int, 1> one{round};
              const std::array<int, 1> two{round + world.rank()};
              std::array<int, 1> of_one{};
              std::array<int, 1> of_two{};
              std::array<CollectiveRequest, 2> requests{
                  world.start(Collective::allreduce(one, of_one, ReduceOp::sum)),
                  other.start(Collective::allreduce(two, of_two, ReduceOp::sum))};
              for (int found = 0; found < 2; ++found) {
                const Waitable both[] = {requests[0], requests[1]};
                const std::size_t at = wait_any(both);
                if (at == 2) return "none was found";
                if (const CollectiveError error = requests.at(at).wait()) return error.text();
              }
              if (of_one[0] != 3 * round || of_two[0] != 3 * round + 3) return "another sum";
              // Waits for all of a given set of requests.
              requests = {world.start(Collective::barrier()), other.start(Collective::barrier())};
              const Waitable all[] = {requests[1], Waitable(), requests[0]};
              if (!wait_all(all)) return "not all are over";
              for (CollectiveRequest& request : requests)
                if (const CollectiveError error = request.wait()) return error.text();
            }
            return "";
          }) == "");
    }
  }
}

TEST_CASE("waits: what cannot be over is passed over") {
  CHECK(wait_any(std::span<const Waitable>()) == 0);
  CHECK(wait_all(std::span<const Waitable>()));
  for (const RunBy by : {RunBy::polled, RunBy::thread}) {
    MemoryNetwork network(2, 5);
    network.deliver_in_waits();
    CHECK(everyone(network, {.ranks = 2, .run_by = by}, [](Communicator& world) -> std::string {
            CollectiveRequest nothing;
            CollectiveRequest prepared = world.prepare(Collective::barrier());
            CollectiveRequest over = world.start(Collective::barrier());
            if (const CollectiveError error = over.wait()) return error.text();
            const Waitable all[] = {Waitable(), nothing, prepared, over};
            if (wait_any(all) != 4) return "something is over";
            if (!wait_all(all)) return "something is under way";
            if (world.rank() == 0) {
              // Rank 1 starts its part only after rank 0 has found nothing complete.
              if (const CollectiveError error = prepared.start()) return error.text();
              if (wait_any(all, std::chrono::milliseconds(2)) != 4) return "it has not ended";
              if (wait_all(all, std::chrono::milliseconds(2))) return "it is under way";
            }
            if (const CollectiveError error = world.barrier()) return error.text();
            if (world.rank() == 1)
              if (const CollectiveError error = prepared.start()) return error.text();
            if (wait_any(all) != 2) return "it has ended";
            const CollectiveError error = prepared.wait();
            return error ? error.text() : "";
          }) == "");
  }
}

TEST_CASE("waits: messages of a channel and operations, of who is alone") {
  const channel::Channel::Opened opened = channel::Channel::open();
  REQUIRE(opened.channel);
  channel::Channel& channel = *opened.channel;
  Communicator world = Communicator::over(channel);
  REQUIRE(world);
  int got = 0;
  channel::Request message = channel.irecv(0, 1, std::as_writable_bytes(std::span(&got, 1)));
  channel::Request idle = channel.recv_init(0, 2, {});
  const Waitable some[] = {idle, message};
  CHECK(wait_any(some, std::chrono::milliseconds(1)) == 2);
  CHECK_FALSE(wait_all(some, std::chrono::milliseconds(1)));
  CollectiveRequest barrier = world.start(Collective::barrier());
  const Waitable all[] = {idle, message, barrier};
  CHECK(wait_any(all) == 2);
  CHECK_FALSE(barrier.wait());
  const int sent = 7;
  channel.send(0, 1, std::as_bytes(std::span(&sent, 1)));
  CHECK(wait_all(all));
  CHECK(wait_any(all) == 1);
  CHECK(got == 7);
  channel::Request* const pointers[] = {nullptr, &idle, &message};
  CHECK(channel::wait_any(std::span<channel::Request* const>(pointers)) == 2);
}

TEST_CASE("waits: contexts are given out once") {
  const channel::Channel::Opened opened = channel::Channel::open();
  REQUIRE(opened.channel);
  channel::Channel& channel = *opened.channel;
  const channel::Context first = channel.reserve_contexts(10);
  CHECK(first >= 0x8000'0000);
  CHECK(channel.reserve_contexts(1) == first + 10);
  CHECK(channel.reserve_contexts(0x7fff'0000) == channel::kWorld);
}

TEST_CASE("waits: threads that reserve contexts at once get different ones") {
  channel::Options options;
  options.threads = channel::Threads::multiple;
  const channel::Channel::Opened opened = channel::Channel::open(options);
  REQUIRE(opened.channel);
  constexpr std::size_t kThreads = 4, kEach = 20'000;
  std::vector<channel::Context> all(kThreads * kEach);
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

TEST_CASE("waits: communicators over a channel come again, but for those that live") {
  const channel::Channel::Opened opened = channel::Channel::open();
  REQUIRE(opened.channel);
  channel::Channel& channel = *opened.channel;
  std::vector<Communicator> live;
  for (int made = 0; made < 5'000; ++made)
    REQUIRE(Communicator::over(channel));
  while (live.size() < 5'000) {
    Communicator one = Communicator::over(channel);
    if (!one) {
      CHECK(one.error().code == CollectiveCode::resources);
      CHECK(one.error().text().find("free some") != std::string::npos);
      break;
    }
    live.push_back(std::move(one));
  }
  CHECK(live.size() > 1'000);
  CHECK(live.size() < 5'000);
  live.pop_back();
  Communicator another = Communicator::over(channel);
  REQUIRE(another);
  CHECK_FALSE(another.barrier());
  CHECK_FALSE(Communicator::over(channel));
}

}  // namespace
}  // namespace scela::collectives::test::waits_test
