// Tests requests: sends that are over before their request exists, sends that nothing receives,
// messages that outlive their requests, and errors.
#include "comm-channel/include/scela/request.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm-channel/api/opening.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"
#include "tests/unit/comm-channel/channel_ranks.h"

namespace scela::channel::request_test {
namespace {

struct Pair {
  std::array<std::unique_ptr<Channel>, 2> channels;

  Pair() {
    auto segment = shm::make_segment(shm::shape_for(2, ChannelOptions().eager.shm));
    REQUIRE(segment);
    std::array<std::unique_ptr<shm::NodeLink>, 2> links;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto link = shm::join_node(*segment, rank);
      REQUIRE(link);
      links[rank] = std::move(*link);
    }
    for (auto& link : links)
      link->settle();
    for (std::size_t rank = 0; rank < 2; ++rank) {
      World world;
      world.rank = static_cast<int>(rank);
      world.size = 2;
      world.node_of = {0, 0};
      Links own;
      own.node = std::move(links[rank]);
      channels[rank] = channel_over(world, ChannelOptions(), std::move(own));
    }
  }
};

TEST_CASE("channel requests: a probed message is not received into a null buffer") {
  Pair pair;
  const std::array<std::byte, 4> bytes{};
  REQUIRE(pair.channels[1]->send(0, 1, bytes).ok());
  std::optional<ProbedMessage> message;
  while (!message)
    message = pair.channels[0]->improbe(1, 1);
  const std::span<std::byte> nowhere(static_cast<std::byte*>(nullptr), 4);
  Request received = pair.channels[0]->imrecv(std::move(*message), nowhere);
  CHECK(received.wait().code() == Code::bad_buffer);
}

TEST_CASE(
    "channel requests: a channel that closes refuses a large message that a probe has taken") {
  Pair pair;
  const std::vector<std::byte> large(3'000'000);
  Request sent = pair.channels[1]->isend(0, 1, large);
  std::optional<ProbedMessage> message;
  while (!message)
    message = pair.channels[0]->improbe(1, 1);
  std::thread closing([&] { pair.channels[0].reset(); });
  const Status refused = sent.wait(std::chrono::seconds(60));
  CHECK(refused.code() == Code::closed);
  CHECK(refused.rank() == 0);
  if (refused.code() == Code::timed_out) message.reset();  // or the channel would not close
  pair.channels[1].reset();
  closing.join();
  CHECK(message->status().bytes() == large.size());
}

TEST_CASE("channel requests: waits pass over a persistent request of a closed channel") {
  const std::array<std::byte, 1> bytes{};
  std::array<std::byte, 1> room{};
  Request old;
  {
    Pair pair;
    old = pair.channels[0]->recv_init(1, 1, room);
  }
  Pair fresh;
  Request other = fresh.channels[0]->irecv(1, 1, room);
  REQUIRE(fresh.channels[1]->send(0, 1, bytes).ok());
  Request* const both[] = {&old, &other};
  CHECK(wait_any(both, std::chrono::seconds(10)) == 1);
  // A time below the clock's range does not block.
  Request never = fresh.channels[0]->irecv(1, 2, room);
  Request* const one[] = {&never};
  CHECK(wait_any(one, std::chrono::nanoseconds::min()) == 1);
  CHECK(!wait_all(one, std::chrono::nanoseconds::min()));
}

// The wait polls the messenger of a request that can become complete.
TEST_CASE(
    "channel requests: a finished request of a closed channel does not choose what a wait polls") {
  const std::array<std::byte, 1> bytes{};
  std::array<std::byte, 1> old_room{}, room{};
  Pair old;
  Request waited = old.channels[0]->irecv(1, 1, old_room);
  REQUIRE(old.channels[1]->send(0, 1, bytes).ok());
  REQUIRE(waited.wait().ok());
  std::thread first([&] { old.channels[0].reset(); });
  old.channels[1].reset();
  first.join();

  Pair fresh;
  Request other = fresh.channels[0]->irecv(1, 1, room);
  REQUIRE(fresh.channels[1]->send(0, 1, bytes).ok());
  Request* const both[] = {&waited, &other};
  CHECK(wait_any(both, std::chrono::seconds(10)) == 1);
  CHECK(wait_all(both, std::chrono::seconds(10)));
}

// Both ends close while they have sends that nothing receives: a small synchronous one, an offered
// one, and ones to the rank itself.
TEST_CASE(
    "channel requests: where both ends close, sends that nothing receives end, and name the "
    "receiver") {
  Pair pair;
  const std::vector<std::byte> large(1 << 20), small(8);
  std::array<std::vector<Request>, 2> sends;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Channel& channel = *pair.channels[rank];
    const int other = 1 - static_cast<int>(rank);
    for (const int peer : {other, static_cast<int>(rank)}) {
      sends[rank].push_back(channel.isend(peer, 1, large));
      sends[rank].push_back(channel.issend(peer, 2, small, 7));
      sends[rank].push_back(channel.issend(peer, 2, large));
    }
  }
  std::thread first([&] { pair.channels[0].reset(); });
  pair.channels[1].reset();
  first.join();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < sends[rank].size(); ++i) {
      const Status status = sends[rank][i].wait(std::chrono::seconds(0));
      const int peer = static_cast<int>(i < 3 ? 1 - rank : rank);
      INFO(rank << " " << i << ": " << status.message());
      CHECK((status.code() == Code::closed || status.code() == Code::peer_ended));
      CHECK(status.rank() == peer);
    }
  }
}

// The receiver takes what has come before and closes. The other end goes on.
TEST_CASE(
    "channel requests: a send to a rank that closes without receiving it ends, and no other") {
  Pair pair;
  const std::vector<std::byte> large(1 << 20);
  std::vector<std::byte> got(large.size());
  Request received = pair.channels[0]->isend(1, 1, large);
  Request never = pair.channels[0]->isend(1, 2, large);
  Status came;
  std::thread other([&] {
    came = pair.channels[1]->recv(0, 1, got);
    pair.channels[1].reset();
  });
  CHECK(received.wait().ok());
  const Status status = never.wait();
  other.join();
  CHECK(came.ok());
  CHECK((status.code() == Code::closed || status.code() == Code::peer_ended));
  CHECK(status.rank() == 1);
}

TEST_CASE(
    "channel requests: a null address is an error of its request, unless there are no bytes") {
  Pair pair;
  Channel& channel = *pair.channels[0];
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    const std::span<std::byte> nothing(static_cast<std::byte*>(nullptr), bytes);
    std::vector<Request> requests;
    for (const int peer : {0, 1}) {
      requests.push_back(channel.isend(peer, 1, nothing));
      requests.push_back(channel.issend(peer, 1, nothing));
      requests.push_back(channel.irecv(peer, 1, nothing));
      requests.push_back(channel.send_init(peer, 1, nothing));
      requests.push_back(channel.recv_init(peer, 1, nothing));
      CHECK(channel.send(peer, 1, nothing).code() == Code::bad_buffer);
      CHECK(channel.recv(peer, 1, nothing).code() == Code::bad_buffer);
    }
    requests.push_back(channel.irecv(kAnySource, kAnyTag, nothing));
    for (Request& request : requests) {
      if (request.persistent()) CHECK(request.start().code() == Code::bad_buffer);
      const Status status = request.wait(std::chrono::seconds(0));
      CHECK(status.code() == Code::bad_buffer);
      CHECK(status.message().find("null") != std::string::npos);
    }
  }
  CHECK(channel.send(1, 1, {}).ok());
  CHECK(pair.channels[1]->recv(0, 1, {}).ok());
}

TEST_CASE("channel requests: a send that was over at once is a request as any other") {
  Pair pair;
  const std::array<std::byte, 8> sent{std::byte{1}, std::byte{2}};
  std::array<std::byte, 8> got{}, never{};
  std::vector<Request> requests;
  requests.push_back(pair.channels[0]->irecv(1, 5, never));
  requests.push_back(pair.channels[0]->isend(1, 5, sent));
  requests.push_back(pair.channels[0]->isend(1, 5, sent));
  REQUIRE(wait_any(requests, std::chrono::seconds(0)) == 1);
  CHECK(requests[1].test());
  CHECK(wait_any(requests, std::chrono::seconds(0)) == 1);
  for (int time = 0; time < 2; ++time) {
    CHECK(requests[1].wait().ok());
    CHECK(wait_any(requests, std::chrono::seconds(0)) == 2);  // the other of the two requests
  }
  CHECK(requests[1].test());
  CHECK(requests[1].status().ok());
  CHECK_FALSE(requests[1].cancel());
  CHECK_FALSE(requests[1].persistent());
  CHECK(requests[1].start().code() == Code::bad_request);
  requests[1] = Request();
  CHECK(wait_any(requests, std::chrono::seconds(0)) == 2);
  CHECK(requests[2].wait().ok());
  CHECK(wait_any(requests, std::chrono::seconds(0)) == 3);
  CHECK(requests[0].cancel());
  for (int message = 0; message < 2; ++message) {
    got = {};
    CHECK(pair.channels[1]->recv(0, 5, got).ok());
    CHECK(got == sent);
  }
}

TEST_CASE("channel requests: an empty one is complete, and one that was not started is refused") {
  Request empty;
  CHECK(empty.test());
  CHECK(empty.wait().ok());
  CHECK(empty.status().ok());
  CHECK_FALSE(empty.cancel());
  CHECK_FALSE(empty.persistent());
  CHECK(empty.start().code() == Code::bad_request);
  CHECK(empty.describe() == "empty request");
  Pair pair;
  std::array<std::byte, 8> got{};
  Request idle = pair.channels[1]->recv_init(0, 5, got);
  CHECK(idle.persistent());
  CHECK(idle.test());
  CHECK(idle.status().ok());
  CHECK(idle.wait().code() == Code::bad_request);
  CHECK(idle.wait(std::chrono::seconds(0)).code() == Code::bad_request);
  REQUIRE(idle.start().ok());
  CHECK(idle.start().code() == Code::bad_request);  // it is under way
  const Status timed_out = idle.wait(std::chrono::seconds(0));
  CHECK(timed_out.code() == Code::timed_out);
  REQUIRE(idle.cancel());
  for (int time = 0; time < 2; ++time)
    CHECK(idle.wait().code() == Code::cancelled);
  REQUIRE(idle.start().ok());
  CHECK(pair.channels[0]->send(1, 5, got).ok());
  for (int time = 0; time < 2; ++time) {
    const Status status = idle.wait();
    CHECK(status.ok());
    CHECK(status.source() == 0);
    CHECK(status.tag() == 5);
    CHECK(status.bytes() == got.size());
  }
}

TEST_CASE("channel requests: an impossible call does not spoil later calls") {
  Pair pair;
  std::array<std::byte, 8> got{};
  const std::array<std::byte, 8> sent{std::byte{7}};
  CHECK(pair.channels[1]->irecv(2, 5, got).wait().code() == Code::bad_rank);
  CHECK(pair.channels[0]->isend(2, 5, sent).wait().code() == Code::bad_rank);
  CHECK(pair.channels[0]->isend(1, -1, sent).wait().code() == Code::bad_tag);
  Request later = pair.channels[1]->recv_init(0, 5, got);
  CHECK(later.start().ok());
  CHECK(pair.channels[0]->send(1, 5, sent).ok());
  CHECK(later.wait().ok());
  CHECK(got == sent);
}

TEST_CASE("channel requests: an error names the operation and the peer, for every cause") {
  Pair pair;
  Channel& channel = *pair.channels[1];
  std::array<std::byte, 8> got{};
  const std::chrono::nanoseconds nothing{0};
  const auto is = [](const Status& status, Code code, int rank, const std::string& message) {
    CHECK(status.code() == code);
    CHECK(status.rank() == rank);
    CHECK(status.message() == message);
  };
  Request from_one = channel.irecv(0, 5, got);
  is(from_one.wait(nothing), Code::timed_out, 0, "receive from rank 0 with tag 5: timed out");
  CHECK(from_one.describe() == "receive from rank 0 with tag 5");
  REQUIRE(from_one.cancel());
  is(from_one.status(), Code::cancelled, 0, "receive from rank 0 with tag 5: it was cancelled");
  is(channel.recv(kAnySource, kAnyTag, got, kWorld, nothing), Code::timed_out, -1,
     "receive from any rank with any tag: timed out");
  is(channel.probe(0, kAnyTag, kWorld, nothing), Code::timed_out, 0,
     "probe rank 0 with any tag: timed out");
  Request unmatched = channel.issend(0, 3, got);
  is(unmatched.wait(nothing), Code::timed_out, 0, "send 8 bytes to rank 0 with tag 3: timed out");
  CHECK(pair.channels[0]->recv(1, 3, got).ok());
  CHECK(unmatched.wait().ok());
  is(channel.send(7, 1, got), Code::bad_rank, 7, "send to rank 7: there are ranks 0 to 1");
  is(channel.recv(7, 1, got), Code::bad_rank, 7, "receive from rank 7: there are ranks 0 to 1");
  is(channel.recv(0, -5, got), Code::bad_tag, 0, "receive with tag -5: tags are 0 to 2147483647");
}

TEST_CASE(
    "channel requests: a message goes on without its request, and what it used is given back") {
  test::Ranks ranks(2);
  const std::vector<std::byte> bytes(100, std::byte{7});
  std::vector<std::byte> got(100);
  for (const std::size_t count : {1U, 40U}) {
    std::vector<Operation*> sends, receives;
    for (std::size_t i = 0; i < count; ++i) {
      sends.push_back(&ranks.send(0, 1, 5, bytes, kWorld, true));
      ranks[0].detach(*sends.back());
    }
    CHECK(std::ranges::none_of(sends, &Operation::complete));
    for (std::size_t i = 0; i < count; ++i) {
      receives.push_back(&ranks.receive(1, 0, 5, got));
      ranks[1].detach(*receives.back());
    }
    // Each poll looks at some of them.
    for (std::size_t i = 0; i < count; ++i)
      ranks.settle();
    CHECK(got == bytes);
    CHECK(std::ranges::all_of(sends, &Operation::complete));
    // New operations are made of those that were given back.
    for (std::vector<Operation*>* const all : {&sends, &receives}) {
      test::Ranks& from = ranks;
      const int rank = all == &sends ? 0 : 1;
      std::set<Operation*> taken;
      for (std::size_t i = 0; i < count; ++i)
        taken.insert(&from[rank].send_operation(1 - rank, 1, {}, kWorld));
      CHECK(taken == std::set<Operation*>(all->begin(), all->end()));
      for (Operation* const one : taken)
        from[rank].release(*one);
    }
    got.assign(got.size(), std::byte{0});
  }
}

// The receive is of a rank that sends nothing; the last send is long, and the peer receives it.
TEST_CASE("channel requests: a channel closes with messages that have no request any more") {
  Pair pair;
  std::array<std::byte, 8> never{};
  const std::vector<std::byte> large(300'000, std::byte{3});
  std::vector<std::byte> got(large.size());
  CHECK(pair.channels[0]->irecv(1, 5, never).detach().ok());
  CHECK(pair.channels[0]->isend(1, 6, large).detach().ok());
  Status came;
  std::thread other([&] {
    came = pair.channels[1]->recv(0, 6, got);
    pair.channels[1].reset();
  });
  pair.channels[0].reset();
  other.join();
  CHECK(came.ok());
  CHECK(got == large);
}

TEST_CASE("channel requests: a request that is not under way is freed instead of going on") {
  Pair pair;
  std::array<std::byte, 8> bytes{}, got{};
  Request idle = pair.channels[0]->send_init(1, 5, bytes);
  CHECK(idle.detach().ok());
  CHECK(idle.describe() == "empty request");
  Request started = pair.channels[0]->send_init(1, 5, bytes);
  REQUIRE(started.start().ok());
  CHECK(started.detach().ok());
  CHECK_FALSE(started.persistent());
  CHECK(pair.channels[1]->recv(0, 5, got).ok());
  CHECK(pair.channels[0]->isend(7, 5, bytes).detach().ok());  // its error is dropped
  CHECK(pair.channels[0]->isend(1, 5, bytes).detach().ok());
  CHECK(pair.channels[1]->recv(0, 5, got).ok());
  Request over = pair.channels[1]->irecv(0, 5, got);
  CHECK(pair.channels[0]->send(1, 5, bytes).ok());
  CHECK(over.wait().ok());
  CHECK(over.detach().ok());
  CHECK(Request().detach().ok());
}

TEST_CASE("channel requests: a probed message of another channel is refused") {
  Pair old, fresh;
  const std::array<std::byte, 4> bytes{};
  std::array<std::byte, 4> room{};
  REQUIRE(old.channels[1]->send(0, 1, bytes).ok());
  std::optional<ProbedMessage> message;
  while (!message)
    message = old.channels[0]->improbe(1, 1);
  const Status status = fresh.channels[0]->imrecv(std::move(*message), room).wait();
  CHECK(status.code() == Code::bad_request);
  CHECK(status.message().find("another channel") != std::string::npos);
}

}  // namespace
}  // namespace scela::channel::request_test
