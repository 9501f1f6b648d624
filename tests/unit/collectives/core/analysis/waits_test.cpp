// Tests which ranks wait for which, by comparing the checker's verdict with a machine that runs
// ranks in a random order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>

#include "collectives/core/analysis/checker.h"
#include "common/core/random.h"
#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace waits_test {

using namespace scela;
using namespace scela::collectives;

namespace {

// Returns lists with messages of no bytes between random ranks. Each rank begins its ends in a
// random order and waits for each some time later.
Lists random_lists(Random& random) {
  Lists lists(2 + random.below(4));
  std::vector<std::vector<Task>> begins(lists.size());
  for (std::uint64_t left = 1 + random.below(8); left > 0; --left) {
    const std::size_t from = random.below(lists.size());
    const std::size_t to = (from + 1 + random.below(lists.size() - 1)) % lists.size();
    begins[from].push_back(send(static_cast<int>(to), {}));
    begins[to].push_back(receive(static_cast<int>(from), {}));
  }
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    std::vector<Task> open;
    std::vector<Task>& left = begins[rank];
    while (!left.empty() || !open.empty()) {
      const bool begin = open.empty() || (!left.empty() && random.chance(1, 2));
      std::vector<Task>& from = begin ? left : open;
      const auto at = static_cast<std::ptrdiff_t>(random.below(from.size()));
      const Task task = from[static_cast<std::size_t>(at)];
      from.erase(from.begin() + at);
      const bool sends = task.kind == Kind::send;
      if (begin) open.push_back(task);
      lists[rank].tasks.push_back(begin   ? task
                                  : sends ? wait_sent(task.peer)
                                          : wait_received(task.peer));
    }
  }
  return lists;
}

// Finds out if all ranks come to their ends. One random rank takes one task at a time, and a
// message is complete at both ends when both have been begun.
class Machine {
 public:
  explicit Machine(const Lists& lists) : lists_(lists), at_(lists.size(), 0) {}

  bool run(Random& random) {
    while (true) {
      std::vector<std::size_t> able;
      for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
        if (at_[rank] < lists_[rank].tasks.size() && may_take(rank)) able.push_back(rank);
      }
      if (able.empty()) break;
      take(able[random.below(able.size())]);
    }
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      if (at_[rank] < lists_[rank].tasks.size()) return false;
    }
    return true;
  }

  // The task at which a stuck rank stands.
  const Task& task(std::size_t rank) const { return lists_[rank].tasks[at_[rank]]; }
  bool is_stuck(std::size_t rank) const { return at_[rank] < lists_[rank].tasks.size(); }

 private:
  struct Way {
    int sent = 0;
    int received = 0;
    int sent_waited = 0;
    int received_waited = 0;
  };

  bool may_take(std::size_t rank) {
    const Task& next = task(rank);
    const int own = static_cast<int>(rank);
    const Way& out = ways_[{own, next.peer}];
    const Way& in = ways_[{next.peer, own}];
    if (next.kind == Kind::wait_sent) return std::min(out.sent, out.received) > out.sent_waited;
    if (next.kind == Kind::wait_received)
      return std::min(in.sent, in.received) > in.received_waited;
    return true;
  }

  void take(std::size_t rank) {
    const Task& next = task(rank);
    const int own = static_cast<int>(rank);
    if (next.kind == Kind::send) ++ways_[{own, next.peer}].sent;
    if (next.kind == Kind::receive) ++ways_[{next.peer, own}].received;
    if (next.kind == Kind::wait_sent) ++ways_[{own, next.peer}].sent_waited;
    if (next.kind == Kind::wait_received) ++ways_[{next.peer, own}].received_waited;
    ++at_[rank];
  }

  const Lists& lists_;
  std::vector<std::size_t> at_;
  std::map<std::pair<int, int>, Way> ways_;
};

std::string text_of(const Lists& lists) {
  std::string out;
  for (const TaskList& list : lists)
    out += to_text(list);
  return out;
}

// Checks that the error names a real circle. Each of its ranks is stuck at the task that the error
// names. The circle returns to its first rank, which is the lowest.
void look_at_circle(const Error& error, const Machine& machine) {
  const int first = std::stoi(error.where.substr(error.where.find(' ') + 1));
  CHECK(error.where.ends_with("'" + to_text(machine.task(static_cast<std::size_t>(first))) + "'"));
  int rank = first;
  do {
    rank = machine.task(static_cast<std::size_t>(rank)).peer;
    REQUIRE(rank >= first);
    REQUIRE(machine.is_stuck(static_cast<std::size_t>(rank)));
    const Task& task = machine.task(static_cast<std::size_t>(rank));
    const std::string told =
        "'" + to_text(task) + "' and waits for rank " + std::to_string(task.peer);
    CHECK((rank == first || error.why.find(told) != std::string::npos));
  } while (rank != first);
}

}  // namespace

TEST_CASE("lists that come to their end in some order do so in all, and others are refused") {
  Random random(29);
  int good = 0;
  constexpr int kLists = 4000;
  for (int i = 0; i < kLists; ++i) {
    const Lists lists = random_lists(random);
    INFO(text_of(lists));
    Machine machine(lists);
    const bool ends = machine.run(random);
    const auto checked = check(shape_of(Operation::barrier, static_cast<int>(lists.size())), lists);
    REQUIRE(checked.has_value() == ends);
    if (ends) {
      ++good;
    } else {
      look_at_circle(checked.error(), machine);
    }
  }
  // Both verdicts are frequent.
  CHECK(good > kLists / 10);
  CHECK(good < kLists * 9 / 10);
}

}  // namespace waits_test
