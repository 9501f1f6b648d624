// Runs processes that send to each other as fast as they have credit. The links deliver at any
// time, the receivers keep buffers for any time, and some processes die. The test fails if a
// message finds no buffer, or is never sent.
//
// SCELA_FLOW_OPERATIONS=N in the environment sends N messages in each run.
#include "comm-channel/core/protocol/flow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "common/core/random.h"

namespace scela::channel::flow_test {
namespace {

struct Sent {
  Header header;
  std::optional<Credit> credit;
  bool answer = false;
  // Counts the data from this sender to this receiver, from 0.
  std::uint64_t number = 0;
};

struct Shape {
  std::size_t processes;
  Flow::Limits limits;
  std::uint64_t messages;
  std::uint64_t deaths;
  std::uint64_t favourite_percent;  // share of messages to process 0
  // The share of steps in which a receiver gives no buffer back.
  std::uint64_t slow_percent;
};

class World {
 public:
  World(std::uint64_t seed, const Shape& shape) : random_(seed), shape_(shape) {
    for (std::size_t i = 0; i < shape.processes; ++i)
      processes_.push_back(std::make_unique<Process>(shape));
    for (std::size_t i = 0; i < shape.processes; ++i)
      for (std::size_t j = 0; j < shape.processes; ++j)
        if (i != j) processes_[i]->posted += processes_[i]->flow.connect(processes_[i]->peers[j]);
  }

  void run() {
    std::uint64_t sent = 0, died = 0;
    while (sent < shape_.messages) {
      if (random_.chance(1, 3)) sent += send_one();
      step();
      if (died < shape_.deaths && random_.chance(shape_.deaths, shape_.messages)) {
        die();
        ++died;
      }
    }
    drain();
    check_end();
  }

  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t notes() const { return notes_; }

 private:
  struct Process {
    explicit Process(const Shape& shape)
        : flow(shape.limits),
          peers(shape.processes),
          waiting(shape.processes),
          answers(shape.processes),
          out(shape.processes),
          next_sent(shape.processes),
          next_seen(shape.processes),
          posted(shape.limits.pool) {}
    Flow flow;
    std::vector<Flow::Peer> peers;
    std::vector<std::deque<std::uint64_t>> waiting;  // data that has no credit, by receiver
    std::vector<std::uint64_t> answers;              // answers that have no room, by receiver
    std::vector<std::deque<Sent>> out;               // links to each process
    std::vector<std::uint64_t> next_sent, next_seen;
    std::uint64_t posted;
    std::deque<std::pair<std::size_t, Sent>> came;
    std::vector<std::size_t> kept;  // the sender of each kept buffer
    bool alive = true;
  };

  std::size_t any() { return random_.below(shape_.processes); }

  std::uint64_t send_one() {
    const std::size_t from = any();
    const std::size_t to = random_.chance(shape_.favourite_percent, 100) ? 0 : any();
    if (from == to || !processes_[from]->alive || !processes_[to]->alive) return 1;
    Process& process = *processes_[from];
    process.waiting[to].push_back(process.next_sent[to]++);
    flush(from, to);
    if (random_.chance(1, 2)) pump(from);
    return 1;
  }

  void step() {
    const std::size_t at = any();
    if (!processes_[at]->alive) return;
    switch (random_.below(4)) {
      case 0:
      case 1:
        deliver(at, any());
        break;
      case 2:
        take(at);
        break;
      default:
        if (!random_.chance(shape_.slow_percent, 100)) give_back(at);
    }
    if (random_.chance(1, 2)) pump(at);
  }

  // Delivers the first message of the link from `from` to `at`. Returns false if there is none.
  bool deliver(std::size_t at, std::size_t from) {
    auto& link = processes_[from]->out[at];
    if (link.empty()) return false;
    Process& process = *processes_[at];
    // This is the property under test: a message always finds a buffer.
    REQUIRE(process.posted > 0);
    --process.posted;
    process.came.emplace_back(from, link.front());
    link.pop_front();
    return true;
  }

  bool take(std::size_t at) {
    Process& process = *processes_[at];
    if (process.came.empty()) return false;
    const auto [from, sent] = process.came.front();
    process.came.pop_front();
    Flow::Peer& peer = process.peers[from];
    const Room room = room_of(sent.header);
    process.flow.arrived(peer, sent.header, sent.credit ? &*sent.credit : nullptr);
    if (sent.credit || sent.answer) {
      ++process.posted;
      process.flow.reposted(peer, room);
      return true;
    }
    REQUIRE(sent.number == process.next_seen[from]++);
    ++delivered_;
    process.kept.push_back(from);
    if (random_.chance(1, 8)) ++process.answers[from];
    return true;
  }

  bool give_back(std::size_t at) {
    Process& process = *processes_[at];
    if (process.kept.empty()) return false;
    const std::size_t which = random_.below(process.kept.size());
    const std::size_t from = process.kept[which];
    process.kept.erase(process.kept.begin() + static_cast<std::ptrdiff_t>(which));
    ++process.posted;
    process.flow.reposted(process.peers[from], Room::credit);
    return true;
  }

  void put(std::size_t from, std::size_t to, Room room, Sent sent) {
    processes_[from]->flow.stamp(processes_[from]->peers[to], room, sent.header);
    processes_[from]->out[to].push_back(sent);
  }

  void flush(std::size_t from, std::size_t to) {
    Process& process = *processes_[from];
    auto& waiting = process.waiting[to];
    while (!waiting.empty() && process.flow.take_credit(process.peers[to])) {
      Sent sent;
      sent.number = waiting.front();
      waiting.pop_front();
      put(from, to, Room::credit, sent);
    }
  }

  bool pump(std::size_t at) {
    Process& process = *processes_[at];
    bool any_sent = false;
    for (std::size_t to = 0; to < shape_.processes; ++to) {
      while (process.answers[to] > 0) {
        const Room room = process.flow.room_for_answer(process.peers[to]);
        if (room == Room::none) break;
        --process.answers[to];
        Sent sent;
        sent.answer = true;
        put(at, to, room, sent);
        any_sent = true;
      }
    }
    while (const Flow::Peer* peer = process.flow.woken()) {
      flush(at, static_cast<std::size_t>(peer - process.peers.data()));
      any_sent = true;
    }
    while (const auto note = process.flow.next()) {
      Sent sent;
      sent.credit = note->body;
      ++notes_;
      put(at, static_cast<std::size_t>(note->peer - process.peers.data()), note->room, sent);
      any_sent = true;
    }
    REQUIRE(process.flow.granted() + process.flow.free() <= process.flow.pool());
    return any_sent;
  }

  void die() {
    const std::size_t dead = any();
    Process& gone = *processes_[dead];
    const auto living = std::count_if(processes_.begin(), processes_.end(),
                                      [](const auto& process) { return process->alive; });
    if (!gone.alive || living <= 2) return;
    gone.alive = false;
    for (std::size_t i = 0; i < shape_.processes; ++i) {
      Process& process = *processes_[i];
      if (i == dead || !process.alive) continue;
      // Some of what the dead process has sent still arrives, and its receiver looks at all that
      // has arrived.
      while (random_.chance(1, 2) && deliver(i, dead)) {
      }
      while (take(i)) {
      }
      gone.out[i].clear();
      process.out[dead].clear();
      process.waiting[dead].clear();
      process.answers[dead] = 0;
      process.flow.disconnect(process.peers[dead]);
      pump(i);
    }
  }

  // Runs all living processes until nothing is left to do.
  void drain() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < shape_.processes; ++i) {
        if (!processes_[i]->alive) continue;
        for (std::size_t from = 0; from < shape_.processes; ++from)
          while (deliver(i, from))
            moved = true;
        while (take(i))
          moved = true;
        while (give_back(i))
          moved = true;
        moved = pump(i) || moved;
      }
    }
  }

  void check_end() const {
    for (std::size_t i = 0; i < shape_.processes; ++i) {
      const Process& process = *processes_[i];
      if (!process.alive) continue;
      CHECK(process.flow.granted() + process.flow.free() == process.flow.pool());
      for (std::size_t to = 0; to < shape_.processes; ++to) {
        CHECK(process.waiting[to].empty());
        CHECK(process.answers[to] == 0);
        CHECK(process.peers[to].held() <= std::max<std::uint32_t>(shape_.limits.most, 1));
        if (to != i && processes_[to]->alive)
          CHECK(processes_[to]->next_seen[i] == process.next_sent[to]);
      }
    }
  }

  Random random_;
  Shape shape_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::uint64_t delivered_ = 0;
  std::uint64_t notes_ = 0;
};

std::uint64_t operations(std::uint64_t otherwise) {
  const char* const value = std::getenv("SCELA_FLOW_OPERATIONS");
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST_CASE("flow: no message meets an empty queue, and every message is delivered") {
  const Shape shapes[] = {
      {2, {8, 1, 8}, 6000, 0, 0, 0},     {5, {16, 1, 8}, 6000, 0, 30, 20},
      {9, {4, 1, 32}, 6000, 0, 90, 50},  {17, {8, 0, 4}, 6000, 0, 60, 10},
      {6, {1, 0, 1}, 6000, 0, 0, 90},    {12, {64, 2, 32}, 6000, 0, 50, 0},
      {8, {1, 1, 64}, 6000, 0, 100, 30}, {3, {256, 0, 256}, 6000, 0, 0, 0},
  };
  std::uint64_t seed = 0;
  for (Shape shape : shapes) {
    shape.messages = operations(shape.messages);
    CAPTURE(++seed);
    World world(seed, shape);
    world.run();
  }
}

// O35: a single buffer and slow receivers.
TEST_CASE("flow: a hundred thousand messages pass through a single buffer") {
  World world(35, {4, {1, 0, 1}, operations(150'000), 0, 40, 60});
  world.run();
  CHECK(world.delivered() >= operations(150'000) / 2);
}

TEST_CASE("flow: a peer that dies takes no buffer along and leaves no other waiting") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const auto first = static_cast<std::uint32_t>(seed % 3);
    World world(seed, {8, {2, first, 8}, operations(1500), 6, 40, 40});
    world.run();
  }
}

// Two processes that a test moves by hand.
struct Pair {
  explicit Pair(const Flow::Limits& limits) : a(limits), b(limits) {
    a.connect(to_b);
    b.connect(to_a);
  }
  static Header stamped(Flow& flow, Flow::Peer& peer, Room room) {
    Header header;
    flow.stamp(peer, room, header);
    return header;
  }
  // Carries the messages about credit from one process to the other, and returns their number.
  static int tell(Flow& from, Flow::Peer& to, Flow& flow, Flow::Peer& peer) {
    int notes = 0;
    while (const auto note = from.next()) {
      const Header header = stamped(from, to, note->room);
      flow.arrived(peer, header, &note->body);
      flow.reposted(peer, note->room);
      ++notes;
    }
    return notes;
  }
  Flow a, b;
  Flow::Peer to_b, to_a;
};

TEST_CASE("flow: a busy peer is granted more credits up to the limit, with few messages") {
  Pair pair({64, 1, 16});
  int notes = 0;
  std::uint32_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!pair.a.take_credit(pair.to_b)) {
      Pair::tell(pair.a, pair.to_b, pair.b, pair.to_a);
      notes += Pair::tell(pair.b, pair.to_a, pair.a, pair.to_b);
      REQUIRE(pair.a.woken() == &pair.to_b);
      REQUIRE(pair.a.take_credit(pair.to_b));
    }
    pair.b.arrived(pair.to_a, Pair::stamped(pair.a, pair.to_b, Room::credit));
    pair.b.reposted(pair.to_a, Room::credit);
    notes += Pair::tell(pair.b, pair.to_a, pair.a, pair.to_b);
    Pair::tell(pair.a, pair.to_b, pair.b, pair.to_a);
    most = std::max(most, pair.to_a.held());
  }
  CHECK(most == 16);
  CHECK(notes < 200);
}

TEST_CASE("flow: credits of two peers that answer each other need no messages of their own") {
  Pair pair({64, 2, 16});
  int notes = 0;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(pair.a.take_credit(pair.to_b));
    pair.b.arrived(pair.to_a, Pair::stamped(pair.a, pair.to_b, Room::credit));
    pair.b.reposted(pair.to_a, Room::credit);
    REQUIRE(pair.b.take_credit(pair.to_a));
    pair.a.arrived(pair.to_b, Pair::stamped(pair.b, pair.to_a, Room::credit));
    pair.a.reposted(pair.to_b, Room::credit);
    notes += Pair::tell(pair.a, pair.to_b, pair.b, pair.to_a);
    notes += Pair::tell(pair.b, pair.to_a, pair.a, pair.to_b);
  }
  CHECK(notes < 20);
}

TEST_CASE("flow: a process that keeps too much says so, and says when it does no more") {
  Pair pair({8, 1, 8});
  CHECK_FALSE(pair.to_b.offers_only());
  pair.b.keep_eager(false);
  CHECK(Pair::tell(pair.b, pair.to_a, pair.a, pair.to_b) == 1);
  CHECK(pair.to_b.offers_only());
  Pair::tell(pair.a, pair.to_b, pair.b, pair.to_a);  // carries the acknowledgement
  pair.b.keep_eager(true);
  CHECK(Pair::tell(pair.b, pair.to_a, pair.a, pair.to_b) == 1);
  CHECK_FALSE(pair.to_b.offers_only());
}

TEST_CASE("flow: buffers that a peer brings are posted once, and used again by the next peer") {
  Flow flow({4, 1, 8});
  Flow::Peer first, second, third;
  CHECK(flow.connect(first) == 1 + Flow::kReserved);
  CHECK(flow.connect(second) == 1 + Flow::kReserved);
  CHECK(flow.pool() == 6);
  flow.disconnect(first);
  CHECK(flow.pool() == 5);
  CHECK(flow.connect(third) == 0);
  CHECK(flow.pool() == 6);
  CHECK(flow.granted() + flow.free() == flow.pool());
}

}  // namespace
}  // namespace scela::channel::flow_test
