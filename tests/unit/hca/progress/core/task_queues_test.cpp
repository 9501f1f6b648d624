// Tests held requests, waits and releases without a device: what is done, in which order, and what
// completes.
#include "hca/progress/core/task_queues.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace scela::hca::progress::task_queues_test {
namespace {

// Notes the calls of the queues. The device's queues are as long as the test says.
class Notes final : public Host {
 public:
  Posted post_send(PairId pair, const Entry& entry) override {
    if (refuses) return Posted::refused;
    if (in_flight >= room) return Posted::full;
    ++in_flight;
    posted.push_back({pair, entry.wr_id});
    return Posted::yes;
  }
  Posted post_receive(PairId pair, const Entry& entry) override {
    received.push_back({pair, entry.wr_id});
    return Posted::yes;
  }
  std::optional<Status> calculate(PairId, const Entry& entry) override {
    calculated = entry.serial;
    return calculates_later ? std::nullopt : std::optional(Status::success);
  }
  bool complete(CountId, PairId, const Entry& entry, bool receives) override {
    completed.push_back({entry.wr_id, entry.status, receives});
    return !overrun;
  }
  void broken(PairId pair) override { ended.push_back(pair); }
  void watch(CountId count, bool wanted) override {
    if (wanted)
      CHECK(watched.insert(count).second);
    else
      CHECK(watched.erase(count) == 1);
  }

  struct Posting {
    PairId pair;
    std::uint64_t wr_id;
    friend bool operator==(const Posting&, const Posting&) = default;
  };
  struct Completed {
    std::uint64_t wr_id;
    Status status;
    bool receives;
    friend bool operator==(const Completed&, const Completed&) = default;
  };
  std::size_t in_flight = 0, room = 100;
  bool refuses = false, calculates_later = false, overrun = false;
  std::uint64_t calculated = 0;
  std::vector<Posting> posted, received;
  std::vector<Completed> completed;
  std::vector<PairId> ended;
  std::set<CountId> watched;
};

struct Bench {
  Notes notes;
  TaskQueues queues{notes};
  CountId sends = queues.add_count(), receives = queues.add_count();

  PairId pair(bool holds_sends = false, bool holds_receives = false, bool connected = true) {
    return queues.add_pair({sends, receives, holds_sends, holds_receives, connected, 16, 16});
  }
  void request(PairId pair, std::uint64_t id, bool signalled = true) {
    post(pair, {.kind = Kind::request, .signalled = signalled, .wr_id = id});
  }
  void wait(PairId pair, CountId count, std::uint64_t n, std::uint64_t id, bool last = true) {
    post(pair, {.kind = Kind::wait,
                .signalled = true,
                .wr_id = id,
                .target = count,
                .count = queues.claim(count, n, last)});
  }
  void enable(PairId pair, PairId target, std::uint64_t n, std::uint64_t id,
              Kind kind = Kind::enable_send) {
    post(pair, {.kind = kind, .signalled = true, .wr_id = id, .target = target, .count = n});
  }
  void post(PairId pair, Entry entry) { REQUIRE(queues.post_send(pair, std::move(entry))); }
  void run() {
    while (queues.run(8)) {
    }
  }
  // The device completes the oldest request.
  void sent(PairId pair, Status status = Status::success) {
    REQUIRE(queues.oldest_in_flight(pair) != nullptr);
    --notes.in_flight;
    queues.sent(pair, status);
    run();
  }
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> found;
    for (const auto& one : notes.posted)
      found.push_back(one.wr_id);
    return found;
  }
};

using Ids = std::vector<std::uint64_t>;
using Completions = std::vector<Notes::Completed>;

Notes::Completed done(std::uint64_t id, Status status = Status::success, bool receives = false) {
  return {id, status, receives};
}

}  // namespace

TEST_CASE(
    "hca progress: held requests go in order as they are enabled, before or after their post") {
  Bench b;
  const PairId manager = b.pair(), held = b.pair(true, true);
  for (std::uint64_t i = 1; i <= 3; ++i)
    b.request(held, i);
  b.run();
  CHECK(b.ids().empty());
  b.enable(manager, held, 2, 10);
  b.run();
  CHECK(b.ids() == Ids{1, 2});
  b.enable(manager, held, 3, 11);
  b.run();
  CHECK(b.ids() == Ids{1, 2, 3});
  for (std::uint64_t i = 4; i <= 6; ++i)
    b.request(held, i);
  b.run();
  CHECK(b.ids() == Ids{1, 2, 3, 4, 5});

  Entry receive;
  receive.wr_id = 7;
  REQUIRE(b.queues.post_receive(held, std::move(receive)));
  b.run();
  CHECK(b.notes.received.empty());
  b.enable(manager, held, 1, 12, Kind::enable_receive);
  b.run();
  CHECK(b.notes.received == std::vector<Notes::Posting>{{held, 7}});
}

TEST_CASE("hca progress: waits count from a base, which the last of several moves by the largest") {
  Bench b;
  const PairId first = b.pair(), second = b.pair();
  const CountId count = b.queues.add_count();
  b.queues.counted(count);
  b.wait(first, count, 1, 1, false);  // the completion came early
  b.wait(second, count, 3, 2, false);
  b.wait(second, count, 2, 3, true);  // the base is 3 now
  b.wait(first, count, 1, 4, true);
  b.run();
  CHECK(b.notes.completed == Completions{done(1)});
  CHECK(b.notes.watched == std::set<CountId>{count});
  b.queues.counted(count);
  b.run();
  CHECK(b.notes.completed.size() == 1);
  b.queues.counted(count);
  b.run();
  CHECK(b.notes.completed == Completions{done(1), done(2), done(3)});
  b.queues.counted(count);
  b.run();
  CHECK(b.notes.completed.back() == done(4));
  CHECK(b.notes.watched.empty());
}

// CORE-Direct's waits do so too: they compare a completion queue's producer index.
TEST_CASE("hca progress: a wait counts completions that tell of an error as it counts others") {
  Bench b;
  const CountId steps = b.queues.add_count();
  const PairId manager = b.queues.add_pair({steps, steps, false, false, true, 16, 16});
  const PairId pair = b.pair(), held = b.pair(true);
  b.request(held, 7);
  b.wait(manager, b.sends, 2, 10);
  b.enable(manager, held, 1, 11);
  b.request(pair, 1);
  b.request(pair, 2);
  b.run();
  b.sent(pair, Status::remote_access);
  CHECK(b.ids() == Ids{1, 2});
  b.sent(pair, Status::flushed);
  CHECK(b.ids() == Ids{1, 2, 7});
}

TEST_CASE("hca progress: tasks complete behind the requests before them, which are looked for") {
  Bench b;
  const PairId pair = b.pair();
  b.request(pair, 1, false);
  b.wait(pair, b.receives, 0, 2);
  b.request(pair, 3);
  b.run();
  CHECK(b.ids() == Ids{1, 3});
  CHECK(b.notes.completed.empty());
  CHECK(b.notes.watched == std::set<CountId>{b.sends});
  b.sent(pair);
  CHECK(b.notes.completed == Completions{done(2)});
  CHECK(b.notes.watched.empty());
  b.sent(pair);
  CHECK(b.notes.completed == Completions{done(2), done(3)});
  CHECK(b.queues.produced(b.sends) == 2);
}

TEST_CASE("hca progress: where the device is full, requests go on with its completions") {
  Bench b;
  const PairId one = b.pair(), other = b.pair();
  b.notes.room = 2;
  for (std::uint64_t i = 1; i <= 4; ++i)
    b.request(one, i);
  b.request(other, 9);
  b.run();
  CHECK(b.ids() == Ids{1, 2});
  CHECK(b.notes.watched == std::set<CountId>{b.sends});
  b.sent(one);
  b.sent(one);
  CHECK(b.ids().size() == 4);
  while (b.queues.oldest_in_flight(one) != nullptr)
    b.sent(one);
  CHECK(b.ids().size() == 5);
  CHECK(b.notes.posted.back() == Notes::Posting{other, 9});
  b.sent(other);
  CHECK(b.notes.watched.empty());
}

TEST_CASE("hca progress: requests behind a calculation wait for it") {
  Bench b;
  const PairId pair = b.pair();
  b.notes.calculates_later = true;
  b.post(pair, {.kind = Kind::calc, .signalled = true, .wr_id = 1});
  b.request(pair, 2);
  b.run();
  CHECK(b.ids().empty());
  SECTION("it is over") {
    b.queues.calculated(pair, b.notes.calculated, Status::success);
    b.run();
    CHECK(b.notes.completed == Completions{done(1)});
    CHECK(b.ids() == Ids{2});
  }
  SECTION("it fails") {
    b.queues.calculated(pair, b.notes.calculated, Status::local_length);
    b.run();
    CHECK(b.notes.completed ==
          Completions{done(1, Status::local_length), done(2, Status::flushed)});
    CHECK(b.notes.ended == std::vector{pair});
  }
  SECTION("the queue has begun anew meanwhile") {
    b.queues.reset(pair);
    b.request(pair, 3);
    b.queues.calculated(pair, b.notes.calculated, Status::success);
    b.run();
    CHECK(b.notes.completed.empty());
    CHECK(b.ids() == Ids{3});
  }
}

TEST_CASE("hca progress: a failure flushes what is held or waits, behind what the device has") {
  Bench b;
  const bool connected = GENERATE(true, false);
  const PairId pair = b.pair(false, true, connected);
  const CountId never = b.queues.add_count();
  b.request(pair, 1);
  b.request(pair, 2, false);
  b.wait(pair, never, 1, 3);
  b.request(pair, 4, false);
  Entry receive;
  receive.wr_id = 5;
  REQUIRE(b.queues.post_receive(pair, std::move(receive)));
  b.run();
  b.sent(pair, Status::remote_access);
  CHECK(b.notes.completed.front() == done(1, Status::remote_access));
  CHECK(b.notes.watched == std::set<CountId>{b.sends});  // the failed wait watches no more
  b.sent(pair, Status::flushed);
  Completions sends;
  for (const auto& one : b.notes.completed)
    if (!one.receives) sends.push_back(one);
  CHECK(sends == Completions{done(1, Status::remote_access), done(2, Status::flushed),
                             done(3, Status::flushed), done(4, Status::flushed)});
  const auto flushed_receive =
      std::ranges::count(b.notes.completed, done(5, Status::flushed, true));
  CHECK(flushed_receive == (connected ? 1 : 0));
  CHECK(b.notes.watched.empty());
  // Requests that are posted from now on are flushed.
  b.request(pair, 6);
  b.run();
  CHECK(b.notes.completed.back() == done(6, Status::flushed));
  CHECK(b.ids() == Ids{1, 2});
  b.queues.reset(pair);
  b.request(pair, 7);
  b.run();
  CHECK(b.ids() == Ids{1, 2, 7});
}

TEST_CASE("hca progress: receives that are held are flushed behind those that the device has") {
  Bench b;
  const PairId pair = b.pair(false, true), manager = b.pair();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Entry receive;
    receive.wr_id = i;
    REQUIRE(b.queues.post_receive(pair, std::move(receive)));
  }
  b.enable(manager, pair, 2, 9, Kind::enable_receive);
  b.run();
  b.notes.completed.clear();
  b.queues.received(pair, Status::flushed);
  CHECK(b.notes.completed.empty());
  CHECK(b.notes.watched == std::set<CountId>{b.receives});
  b.queues.received(pair, Status::flushed);
  CHECK(b.notes.completed == Completions{done(3, Status::flushed, true)});
  CHECK(b.notes.watched.empty());
}

TEST_CASE("hca progress: a request that names a gone or empty queue fails its own queue pair") {
  Bench b;
  const PairId manager = b.pair(), plain = b.pair(), gone = b.pair(true);
  const CountId count = b.queues.add_count();
  SECTION("a queue pair that holds nothing") {
    b.enable(manager, plain, 1, 1);
  }
  SECTION("a queue pair that has gone") {
    b.enable(manager, gone, 1, 1);
    b.queues.remove_pair(gone);
  }
  SECTION("a completion queue that goes while it is waited for") {
    b.wait(manager, count, 1, 1);
    b.run();
    b.queues.remove_count(count);
  }
  SECTION("a request that the device does not take") {
    b.notes.refuses = true;
    b.request(manager, 1);
  }
  b.wait(manager, b.sends, 0, 2);
  b.run();
  CHECK(b.notes.completed ==
        Completions{done(1, Status::local_qp_operation), done(2, Status::flushed)});
}

TEST_CASE("hca progress: no queue keeps others waiting, and a full one says so") {
  Bench b;
  const PairId one = b.pair(true), other = b.pair(), manager = b.pair();
  for (std::uint64_t i = 0; i < 16; ++i)
    b.request(one, i);
  Entry more;
  CHECK_FALSE(b.queues.post_send(one, std::move(more)));
  b.enable(manager, one, 16, 50);
  b.request(other, 100);
  CHECK(b.queues.run(4));
  CHECK(std::ranges::count(b.ids(), 100U) + b.notes.posted.size() > 0);
  CHECK(b.queues.run(8));
  CHECK(std::ranges::count(b.ids(), 100U) == 1);
  b.run();
  CHECK(b.ids().size() == 17);
}

TEST_CASE("hca progress: a completion queue that ran over counts no more") {
  Bench b;
  const PairId first = b.pair(), second = b.pair();
  const CountId never = b.queues.add_count();
  b.notes.overrun = true;
  b.wait(first, never, 0, 1);
  b.wait(second, b.sends, 1, 2);
  b.run();
  CHECK(b.notes.completed == Completions{done(1)});
  CHECK(b.queues.produced(b.sends) == 0);
}

}  // namespace scela::hca::progress::task_queues_test
