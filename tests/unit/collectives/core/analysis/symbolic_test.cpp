// Tests lists that fit together but compute the wrong result: the symbolic executor says what is
// wrong.
#include "collectives/core/analysis/symbolic.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/analysis/sums.h"
#include "common/core/random.h"
#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace symbolic_test {

using namespace scela;
using namespace scela::collectives;

namespace {

// Returns the executor's refusal of lists that the checker accepts.
std::string refusal(const Shape& shape, const Lists& lists) {
  const auto good = check(shape, lists);
  if (!good) FAIL(good.error().text());
  const auto counts = execute(shape, lists);
  if (counts) return "";
  return counts.error().where + ": " + counts.error().why;
}

const std::string kLeft = "blocks in 1 out 1 scratch 1\n";
const std::string kSwap =
    "receive PEER -> scratch[0]\nsend PEER <- in[0]\nwait received PEER 1\nwait sent PEER 1\n"
    "copy in[0] -> out[0]\n";

std::string swap_with(int peer, const std::string& after) {
  std::string out = kLeft + kSwap + after;
  for (auto at = out.find("PEER"); at != std::string::npos; at = out.find("PEER"))
    out.replace(at, 4, std::to_string(peer));
  return out;
}

}  // namespace

TEST_CASE("operands in the wrong order are right only for reductions that commute") {
  const Lists lists = lists_of(
      {swap_with(1, "reduce scratch[0] -> out[0]"), swap_with(0, "reduce scratch[0] -> out[0]")});
  const Shape shape = shape_of(Operation::allreduce, 2);
  CHECK(refusal(shape, lists).empty());
  CHECK(refusal(in_order(shape), lists) ==
        "rank 0: output block 0 is block 0 of ranks 1, 0, not block 0 of ranks 0-1");
}

TEST_CASE("a contribution that comes twice, or not at all, is noticed") {
  const Shape shape = shape_of(Operation::allreduce, 2);
  const std::string once = swap_with(0, "reduce scratch[0] -> out[0]");
  CHECK(refusal(shape, lists_of({swap_with(1, ""), once})) ==
        "rank 0: output block 0 is block 0 of rank 0, not block 0 of ranks 0-1");
  CHECK(refusal(shape, lists_of({swap_with(1,
                                           "reduce out[0] <- scratch[0]\n"
                                           "reduce scratch[0] -> out[0]"),
                                 once})) ==
        "rank 0: output block 0 is block 0 of ranks 0-1, 1, not block 0 of ranks 0-1");
}

TEST_CASE("blocks at each other's places are noticed") {
  Lists lists = flat_alltoall(3);
  std::swap(lists[2].tasks[3].from, lists[2].tasks[4].from);
  CHECK(refusal(shape_of(Operation::alltoall, 3), lists) ==
        "rank 0: output block 2 is block 1 of rank 2, not block 0 of rank 2");
  lists = doubling_allgather(4);
  CHECK(refusal(shape_of(Operation::allgather, 4), lists).empty());
  std::swap(lists[1].tasks[1].to.first, lists[1].tasks[0].to.first);
  lists[1].tasks[2].from.first = 0;
  CHECK(refusal(shape_of(Operation::allgather, 4), lists) ==
        "rank 1: output block 0 is block 0 of rank 1, not block 0 of rank 0");
}

TEST_CASE("contributions to different blocks are not reduced with each other") {
  const Shape shape = shape_of(Operation::reduce_scatter, 1);
  Shape two = shape;
  two.segments = 2;
  CHECK(
      refusal(two, lists_of({"blocks in 2 out 2 scratch 0\ncopy in[0+2] -> out[0+2]\n"
                             "reduce in[1] -> out[0]"})) ==
      "rank 0, task 1 'reduce in[1] -> out[0]': reduces block 1 of rank 0 with block 0 of rank 0");
}

TEST_CASE("lists that check() would refuse are an error, not a crash") {
  const Shape shape = shape_of(Operation::barrier, 2);
  const auto why = [&](const std::string& first, const std::string& second) {
    const auto counts = execute(shape, lists_of({first, second}));
    return counts ? "" : counts.error().why;
  };
  const std::string head = "blocks in 0 out 0 scratch 2\n";
  CHECK(why(head + "send 1 <- scratch[1+2]\nwait sent 1 1",
            head + "receive 0 -> scratch[0+2]\nwait received 0 1") ==
        "its scratch has 2 blocks only");
  CHECK(why(head + "send 1 <- scratch[1]\nwait sent 1 1",
            head + "receive 0 -> scratch[0+2]\nwait received 0 1") ==
        "sends 1 blocks to rank 1, which receives 2");
  CHECK(why(head + "copy scratch[0] -> scratch[5]", head) == "its scratch has 2 blocks only");
  CHECK(why(head + "copy scratch[0] -> scratch[0+2]", head) == "takes 1 blocks to 2");
  CHECK(why(head + "reduce scratch[0] -> scratch[1]", head) == "reduces nothing with nothing");
  CHECK(why(head + "signal\nwait sent 1 1", head) != "");
}

TEST_CASE("sums of ranks in any order are equal where allowed, and joined where they meet") {
  Random random(3);
  for (int ranks : {1, 2, 7, 40}) {
    for (int round = 0; round < 50; ++round) {
      // The contributions come in a random order, and each is added at either side.
      std::vector<int> order(static_cast<std::size_t>(ranks));
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
      Sums any(ranks, true);
      Sums fixed(ranks, false);
      std::uint32_t sum = Sums::of_rank(order[0]);
      std::uint32_t in_order = sum;
      for (std::size_t i = 1; i < order.size(); ++i) {
        const std::uint32_t next = Sums::of_rank(order[i]);
        sum = random.chance(1, 2) ? any.combine(sum, next) : any.combine(next, sum);
        in_order = fixed.combine(in_order, next);
      }
      CHECK(sum == any.of_run(0, ranks - 1));
      CHECK((in_order == fixed.of_run(0, ranks - 1)) == std::is_sorted(order.begin(), order.end()));
      // The contributions are combined in order, with random brackets.
      std::vector<std::uint32_t> heaps;
      for (int rank = 0; rank < ranks; ++rank)
        heaps.push_back(Sums::of_rank(rank));
      while (heaps.size() > 1) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(heaps.size() - 1));
        heaps[static_cast<std::size_t>(at)] = fixed.combine(
            heaps[static_cast<std::size_t>(at)], heaps[static_cast<std::size_t>(at) + 1]);
        heaps.erase(heaps.begin() + at + 1);
      }
      CHECK(heaps[0] == fixed.of_run(0, ranks - 1));
    }
  }
  Sums sums(9, true);
  const std::uint32_t twice = sums.combine(sums.of_run(0, 4), sums.of_run(3, 8));
  CHECK(twice != sums.of_run(0, 8));
  CHECK(sums.text(twice) == "ranks 0-4, 3-8");
  CHECK(sums.text(Sums::of_rank(4)) == "rank 4");
}

}  // namespace symbolic_test
