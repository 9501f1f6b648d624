// Tests every algorithm on real bytes, over messages that arrive in any order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "collectives/algorithms/registry/registry.h"
#include "tests/support/list_stages.h"
#include "tests/unit/collectives/executors/executor_ranks.h"

namespace scela::collectives::test::bytes_test {
namespace {

TEST_CASE("executors: every algorithm gives each of 1 to 20 ranks what its definition says") {
  std::set<const Algorithm*> seen;
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (std::uint64_t turn = 0; turn < 2; ++turn) {
      for (const Case& one : cases(ranks, turn)) {
        seen.insert(one.algorithm);
        Ranks all(ranks, turn * 100 + static_cast<std::uint64_t>(ranks));
        all.add(one);
        const std::string stuck = all.run();
        if (!stuck.empty()) FAIL(text(one) << ": " << stuck);
        const std::string wrong = all.wrong();
        if (!wrong.empty()) FAIL(wrong);
        if (all.network().under_way() != 0) FAIL(text(one) << " leaves messages behind");
      }
    }
  }
  CHECK(seen.size() == algorithms().size());
}

TEST_CASE("executors: operations that are under way at once do not meet each other") {
  for (const int ranks : {2, 3, 7}) {
    const std::vector<Case> every = cases(ranks, 5);
    for (std::size_t first = 0; first < every.size(); first += 12) {
      Ranks all(ranks, first);
      for (std::size_t i = first; i < std::min(first + 12, every.size()); ++i)
        all.add(every[i]);
      REQUIRE(all.run().empty());
      REQUIRE(all.wrong().empty());
    }
  }
}

TEST_CASE("executors: a run is bound anew, to other bytes of another plan") {
  const std::vector<Case> every = cases(4, 9);
  MemoryNetwork network(4, 3);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Run>> runs;
  for (int rank = 0; rank < 4; ++rank) {
    transports.push_back(network.transport(rank));
    runs.push_back(std::make_unique<Run>());
  }
  for (const Case& one : every) {
    std::vector<std::unique_ptr<Member>> members;
    for (int rank = 0; rank < 4; ++rank) {
      members.push_back(std::make_unique<Member>(one, rank, 1));
      Run& run = *runs[static_cast<std::size_t>(rank)];
      REQUIRE(run.bind(members.back()->call({})));
      run.begin(*transports[static_cast<std::size_t>(rank)]);
    }
    for (int left = 4; left != 0;) {
      left = 0;
      for (const auto& run : runs)
        if (!run->is_over() && run->advance()) ++left;
      network.deliver();
    }
    for (const auto& member : members)
      REQUIRE(member->wrong() == "");
  }
}

// Runs each stage as a run of its own, over a transport of its own, as an application and its
// progress thread do (P2).
class Staged {
 public:
  Staged(const Case& one, int rank, MemoryNetwork& network)
      : member_(one, rank, 1), call_(member_.call({})) {
    for (const Stage& stage : stages(one.shape, one.algorithm->build(one.shape, rank))) {
      plans_.push_back(*Plan::of(stage.list));
      transports_.push_back(network.transport(rank));
      runs_.push_back(std::make_unique<Run>());
    }
    scratch_.resize(call_.layout->of(Space::scratch).end());
    call_.scratch = scratch_.data();
  }
  // Returns false if there is nothing more to do.
  bool advance() {
    if (next_ == runs_.size()) return false;
    Run& run = *runs_[next_];
    if (!begun_) {
      call_.plan = plans_[next_];
      begun_ = true;
      if (!run.bind(call_)) FAIL("a stage cannot be bound");
      run.begin(*transports_[next_]);
    }
    if (!run.is_over()) run.advance();
    if (run.is_over()) {
      ++next_;
      begun_ = false;
    }
    return true;
  }
  std::string wrong() const { return member_.wrong(); }
  std::size_t count() const { return runs_.size(); }

 private:
  Member member_;
  Call call_;
  std::vector<std::byte> scratch_;
  std::vector<std::shared_ptr<const Plan>> plans_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::size_t next_ = 0;
  bool begun_ = false;
};

TEST_CASE("executors: stages of a split tree, each run on its own, give the bytes of the whole") {
  std::set<const Algorithm*> seen;
  for (int ranks = 1; ranks <= 14; ++ranks) {
    for (const Case& one : cases(ranks, 3)) {
      if (one.shape.split == 0) continue;
      seen.insert(one.algorithm);
      MemoryNetwork network(ranks, static_cast<std::uint64_t>(ranks));
      std::vector<std::unique_ptr<Staged>> all;
      for (int rank = 0; rank < ranks; ++rank)
        all.push_back(std::make_unique<Staged>(one, rank, network));
      REQUIRE(all[0]->count() > 1);
      for (bool any = true; any;) {
        any = false;
        for (const auto& each : all)
          any = each->advance() || any;
        network.deliver();
      }
      for (const auto& each : all)
        REQUIRE(each->wrong() == "");
    }
  }
  CHECK(seen.size() ==
        static_cast<std::size_t>(std::ranges::count_if(algorithms(), &Algorithm::has_split)));
}

// Two ranks exchange messages, and three of one rank are held until they are enabled.
TEST_CASE("executors: sends that are held go where they are enabled") {
  const auto sender = parse(
      "blocks in 0 out 3 scratch 0\nsend 1 <- out[0] held\nsend 1 <- out[1] held\n"
      "send 1 <- out[2] held\nreceive 1 -> out[0+0]\nwait received 1 1\nenable 1 2\nsignal\n"
      "enable 1 1\nwait sent 1 3\nsignal\n");
  const auto receiver = parse(
      "blocks in 0 out 3 scratch 0\nreceive 0 -> out[0]\nreceive 0 -> out[1]\nsend 0 <- out[0+0]\n"
      "receive 0 -> out[2]\nwait sent 0 1\nwait received 0 3\nsignal\n");
  REQUIRE(sender);
  REQUIRE(receiver);
  MemoryNetwork network(2, 1);
  const auto one = network.transport(0);
  const auto two = network.transport(1);
  std::array<std::byte, 12> from{};
  std::array<std::byte, 12> to{};
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::byte>(i + 1);
  Layout layout;
  layout.spaces[1] = BlockSizes::equal(3, 4);
  Call call;
  call.plan = *Plan::of(*sender);
  call.layout = &layout;
  call.output = from.data();
  Run sends;
  Run receives;
  REQUIRE(sends.bind(call));
  call.plan = *Plan::of(*receiver);
  call.output = to.data();
  call.rank = 1;
  REQUIRE(receives.bind(call));
  sends.begin(*one);
  CHECK(sends.advance());
  CHECK(network.under_way() == 1);  // one receive; nothing was sent
  CHECK(sends.signals() == 0);
  receives.begin(*two);
  while (!sends.is_over() || !receives.is_over()) {
    if (!sends.is_over()) sends.advance();
    if (!receives.is_over()) receives.advance();
    network.deliver();
  }
  CHECK(sends.signals() == 2);
  CHECK(receives.signals() == 1);
  CHECK(to == from);
}

}  // namespace
}  // namespace scela::collectives::test::bytes_test
