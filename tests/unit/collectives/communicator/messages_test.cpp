// Tests the messages of communicators. The ranks are threads of this process, with channels over
// the shared memory of a node.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/api/opening.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"
#include "common/core/text.h"
#include "tests/support/memory_network.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::messages_test {
namespace {

using namespace std::chrono_literals;
constexpr auto kLimit = 10s;

std::span<const std::byte> sent(const int& number) {
  return std::as_bytes(std::span(&number, 1));
}
std::span<std::byte> room(int& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

using Part = std::function<std::string(std::unique_ptr<Channel>& channel, Communicator& world)>;

// Runs the part on each rank. Returns the first error that one reports; empty if there is none.
std::string on_ranks(int count, const Part& part) {
  const ChannelOptions options;
  auto segment = channel::shm::make_segment(
      channel::shm::shape_for(static_cast<std::uint32_t>(count), options.eager.shm));
  REQUIRE(segment);
  std::vector<channel::Links> links(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    auto link = channel::shm::join_node(*segment, static_cast<std::uint32_t>(rank));
    REQUIRE(link);
    links[static_cast<std::size_t>(rank)].node = std::move(*link);
  }
  for (channel::Links& own : links)
    own.node->settle();
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      channel::World world;
      world.rank = rank;
      world.size = count;
      world.node_of.assign(static_cast<std::size_t>(count), 0);
      std::unique_ptr<Channel> channel =
          channel::channel_over(world, options, std::move(links[static_cast<std::size_t>(rank)]));
      Communicator all = Communicator::world(*channel);
      const std::string said = all ? part(channel, all) : all.status().message();
      const std::lock_guard lock(mutex);
      if (wrong.empty() && !said.empty()) wrong = cat("rank ", rank, ": ", said);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return wrong;
}

// Returns false if not all ranks come in time, since one of them has failed.
bool all_here(Communicator& part) {
  return part.start(Collective::barrier()).wait(kLimit).ok();
}

TEST_CASE("communicator messages: none matches an operation, another communicator or the channel") {
  CHECK(on_ranks(3, [](std::unique_ptr<Channel>& channel, Communicator& world) -> std::string {
          Communicator twin = world.dup();
          const int next = (world.rank() + 1) % world.size();
          const int of_channel = 1, of_world = 2, of_twin = 3;
          int got = 0;
          // Receives from any rank with any tag wait while operations of both move messages.
          Request any = world.irecv(kAnySource, kAnyTag, room(got));
          std::vector<int> one{1}, sum(1);
          for (Communicator* const part : {&world, &twin})
            for (int round = 0; round < 3; ++round) {
              const Status status = part->run(Collective::allreduce(one, sum, ReduceOp::sum));
              if (!status.ok() || sum[0] != 3) return "an operation: " + status.message();
            }
          if (any.test()) return "a receive got what an operation sent";
          Request sends[] = {channel->isend(next, 1, sent(of_channel)),
                             twin.isend(next, 1, sent(of_twin))};
          if (!all_here(world) || any.test()) return "a receive got another's message";
          if (!all_here(world)) return "the second barrier";
          Request last = world.isend(next, 1, sent(of_world));
          if (!any.wait(kLimit).ok() || got != of_world) return cat("the world got ", got);
          if (!twin.recv(kAnySource, kAnyTag, room(got), kLimit).ok() || got != of_twin)
            return cat("the twin got ", got);
          if (!channel->recv(kAnySource, kAnyTag, room(got), kWorld, kLimit).ok() ||
              got != of_channel)
            return cat("the channel got ", got);
          return wait_all(sends, kLimit) && last.wait(kLimit).ok() ? "" : "a send";
        }) == "");
}

// Returns what is wrong with a message of rank `last`, which is its number; empty if nothing is.
std::string wrong_message(const Status& status, int last, int got, const char* what) {
  if (!status.ok()) return cat(what, ": ", status.message());
  return status.source() == last && got == last
             ? ""
             : cat(what, " from ", status.source(), " got ", got);
}

// Receives a message of rank `last` in one of five ways. Returns what is wrong.
std::string received(Communicator& part, int last, int way) {
  int got = -1;
  Request receive;
  Status status;
  switch (way) {
    case 0:
      receive = part.irecv(kAnySource, 1, room(got));
      status = receive.wait(kLimit);
      break;
    case 1: {
      receive = part.irecv(kAnySource, 1, room(got));
      Request* const one[] = {&receive};
      if (wait_any(one, kLimit) != 0) return "no receive is over";
      status = receive.status();
      if (receive.wait().source() != last) return "the second look at a source";
      break;
    }
    case 2:
      receive = part.recv_init(last, 1, room(got));
      if (!receive.start().ok()) return "a persistent receive";
      status = receive.wait(kLimit);
      break;
    case 3:
      status = part.recv(last, 1, room(got), kLimit);
      break;
    default: {
      const Status found = part.probe(kAnySource, 1, kLimit);
      if (found.source() != last) return cat("a probe finds rank ", found.source());
      std::optional<ProbedMessage> taken = part.improbe(last, 1);
      if (!taken || taken->status().source() != last) return "a probe takes another";
      receive = part.imrecv(std::move(*taken), room(got));
      status = receive.wait(kLimit);
    }
  }
  return wrong_message(status, last, got, "a message");
}

std::string wrong_errors(Communicator& part, int last) {
  int got = 0;
  Request never = part.irecv(last, 2, room(got));
  const Status late = never.wait(0ns);
  if (late.code() != Code::timed_out || late.rank() != last)
    return cat("a timeout of rank ", late.rank());
  if (!never.cancel() || never.status().rank() != last) return "a cancelled receive";
  if (never.describe().find(cat("rank ", last, " of the communicator")) == std::string::npos)
    return never.describe();
  const Status wrong = part.send(3, 1, sent(got));
  if (wrong.code() != Code::bad_rank || wrong.rank() != 3) return wrong.message();
  return "";
}

TEST_CASE("communicator messages: sources and errors have its ranks") {
  CHECK(on_ranks(4, [](std::unique_ptr<Channel>&, Communicator& world) -> std::string {
          const std::vector<int> ranks{3, 0, 2};
          Communicator part = world.subgroup(ranks);
          if (!part) return world.rank() == 1 ? "" : part.status().message();
          const int next = (part.rank() + 1) % part.size();
          const int last = (part.rank() + part.size() - 1) % part.size();
          const int own = part.rank();
          for (int way = 0; way < 5; ++way) {
            Request send = part.isend(next, 1, sent(own));
            if (std::string wrong = received(part, last, way); !wrong.empty())
              return cat("way ", way, ": ", wrong);
            if (!send.wait(kLimit).ok()) return "a send";
            // A message that comes early is for the next round.
            if (!all_here(part)) return "the barrier";
          }
          return wrong_errors(part, last);
        }) == "");
}

TEST_CASE("communicator messages: a freed communicator starts none, and those under way go on") {
  CHECK(on_ranks(2, [](std::unique_ptr<Channel>& channel, Communicator& world) -> std::string {
          Communicator twin = world.dup();
          const int peer = 1 - world.rank();
          const int own = world.rank();
          int got = -1;
          Request receive = twin.irecv(peer, 1, room(got));
          Request kept = twin.send_init(peer, 1, sent(own));
          if (!all_here(world)) return "the barrier";
          Request send = twin.isend(peer, 1, sent(own));
          twin.free();
          if (kept.start().code() != Code::bad_communicator) return "it starts";
          if (twin.isend(peer, 1, sent(own)).wait().code() != Code::bad_communicator)
            return "it sends";
          if (!receive.wait(kLimit).ok() || got != peer || !send.wait(kLimit).ok())
            return "what was under way has failed";
          if (!all_here(world)) return "the last barrier";
          // The channel is closed before its communicator.
          channel.reset();
          const Status closed = world.isend(peer, 1, sent(own)).wait();
          return closed.code() == Code::closed ? "" : closed.message();
        }) == "");
}

TEST_CASE("communicator messages: over another library a call is refused with the reason") {
  CHECK(everyone({.ranks = 2}, [](Communicator& world) -> std::string {
          int number = 0;
          const Status status = world.send(1 - world.rank(), 1, sent(number));
          if (status.code() != Code::bad_communicator) return status.message();
          const std::optional<ProbedMessage> probed = world.improbe(0, 1);
          if (!probed || probed->status().code() != Code::bad_communicator) return "improbe";
          return world.irecv(0, 1, room(number)).wait().code() == Code::bad_communicator ? ""
                                                                                         : "irecv";
        }) == "");
}

TEST_CASE("communicator messages: an operation under way cannot go on without its request") {
  CHECK(on_ranks(2, [](std::unique_ptr<Channel>&, Communicator& world) -> std::string {
          int number = 0;
          if (world.rank() == 1) {
            if (!world.recv(0, 1, room(number), kLimit).ok()) return "the start";
            return all_here(world) ? "" : "the operation";
          }
          Request operation = world.start(Collective::barrier());
          if (operation.detach().code() != Code::bad_request) return "it goes on by itself";
          if (!world.send(1, 1, sent(number)).ok()) return "the start";
          if (!operation.wait(kLimit).ok()) return "the operation has failed";
          if (!operation.detach().ok()) return "it is not freed";
          Request prepared = world.prepare(Collective::barrier());
          return prepared.detach().ok() ? "" : "a prepared one is not freed";
        }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::messages_test
