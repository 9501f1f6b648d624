// Tests correct lists: all parts that prove lists accept them and count correctly.
#include <catch2/catch.hpp>
#include <string>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/analysis/symbolic.h"
#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace right_lists_test {

using namespace scela;
using namespace scela::collectives;

namespace {

Counts prove(const Shape& shape, const Lists& lists, std::uint32_t parts = 1) {
  const auto good = check(shape, lists, parts);
  if (!good) FAIL(good.error().text());
  const auto counts = execute(shape, lists, parts);
  if (!counts) FAIL(counts.error().text());
  SUCCEED();
  return *counts;
}

// Returns the tasks that both ranks have alike: `receive`, `send`, and both waits.
std::string exchange(int peer, const std::string& from, const std::string& to) {
  const std::string rank = std::to_string(peer);
  return "receive " + rank + " -> " + to + "\nsend " + rank + " <- " + from + "\nwait received " +
         rank + " 1\nwait sent " + rank + " 1\n";
}

}  // namespace

TEST_CASE("one rank alone has nothing to send") {
  CHECK(prove(shape_of(Operation::barrier, 1), lists_of({"blocks in 0 out 0 scratch 0\nsignal"})) ==
        Counts{});
  CHECK(prove(shape_of(Operation::allreduce, 1),
              lists_of({"blocks in 1 out 1 scratch 0\ncopy in[0] -> out[0]"})) == Counts{});
  CHECK(prove(in_place(shape_of(Operation::allreduce, 1)),
              lists_of({"blocks in 0 out 1 scratch 0"})) == Counts{});
}

TEST_CASE("broadcasts by hand are proved, and their rounds counted") {
  CHECK(prove(shape_of(Operation::bcast, 8), flat_bcast(8)) == Counts{1, 7, 7, 0, 7});
  CHECK(prove(shape_of(Operation::bcast, 8), binomial_bcast(8)) == Counts{3, 7, 7, 0, 3});
  // This has another root, and two segments one behind the other.
  const std::string head = "blocks in 0 out 2 scratch 0\n";
  Shape shape = shape_of(Operation::bcast, 3, 2);
  shape.segments = 2;
  CHECK(
      prove(shape,
            lists_of({head + "receive 2 -> out[0]\nreceive 2 -> out[1]\nwait received 2 1\n"
                             "send 1 <- out[0]\nwait received 2 1\nsend 1 <- out[1]\nwait sent 1 2",
                      head + "receive 0 -> out[0]\nreceive 0 -> out[1]\nwait received 0 2",
                      head + "send 0 <- out[0]\nsend 0 <- out[1]\nwait sent 0 2"})) ==
      Counts{2, 4, 4, 0, 2});
  // These are the same messages with one segment: the algorithm has cut the message itself.
  shape.segments = 1;
  CHECK(prove(shape,
              lists_of({head + "receive 2 -> out[0+2]\nwait received 2 1\nsignal",
                        head + "receive 2 -> out[0+2]\nwait received 2 1\nsignal",
                        head + "send 0 <- out[0+2]\nsend 1 <- out[0+2]\nwait sent 0 1\n"
                               "wait sent 1 1\nsignal"}),
              2) == Counts{1, 2, 4, 0, 2});
}

TEST_CASE("allgathers and an alltoall by hand are proved") {
  for (const int ranks : {2, 3, 5, 8}) {
    const auto count = static_cast<std::uint64_t>(ranks);
    const Counts ring = prove(shape_of(Operation::allgather, ranks), ring_allgather(ranks));
    CHECK(ring.rounds == count - 1);
    CHECK(ring.messages == count * (count - 1));
    CHECK(ring.blocks == count * (count - 1));
    CHECK(ring.peers == (ranks == 2 ? 1u : 2u));
    CHECK(prove(shape_of(Operation::alltoall, ranks), flat_alltoall(ranks)).rounds == 1);
  }
  CHECK(prove(shape_of(Operation::allgather, 8), doubling_allgather(8)) ==
        Counts{3, 24, 8 * 7, 0, 3});
}

TEST_CASE("gather and scatter by hand are proved, in place and not") {
  const std::string leaf = "blocks in 1 out 0 scratch 0\nsend 1 <- in[0]\nwait sent 1 1";
  const std::string root =
      "receive 0 -> out[0]\nreceive 2 -> out[2]\nwait received 0 1\nwait received 2 1";
  const Shape gather = shape_of(Operation::gather, 3, 1);
  prove(gather,
        lists_of({leaf, "blocks in 1 out 3 scratch 0\ncopy in[0] -> out[1]\n" + root, leaf}));
  prove(in_place(gather), lists_of({leaf, "blocks in 0 out 3 scratch 0\n" + root, leaf}));
  const std::string child = "blocks in 0 out 1 scratch 0\nreceive 1 -> out[0]\nwait received 1 1";
  const std::string sender = "send 0 <- in[0]\nsend 2 <- in[2]\nwait sent 0 1\nwait sent 2 1";
  const Shape scatter = shape_of(Operation::scatter, 3, 1);
  prove(scatter,
        lists_of({child, "blocks in 3 out 1 scratch 0\ncopy in[1] -> out[0]\n" + sender, child}));
  prove(in_place(scatter), lists_of({child, "blocks in 3 out 0 scratch 0\n" + sender, child}));
}

TEST_CASE("reductions by hand are proved, whether the order of operands matters or not") {
  const std::string head = "blocks in 1 out 1 scratch 1\ncopy in[0] -> out[0]\n";
  // Recursive doubling: the operand of the lower ranks comes from the left.
  const Lists doubling =
      lists_of({head + exchange(1, "out[0]", "scratch[0]") + "reduce out[0] <- scratch[0]\n" +
                    exchange(2, "out[0]", "scratch[0]") + "reduce out[0] <- scratch[0]",
                head + exchange(0, "out[0]", "scratch[0]") + "reduce scratch[0] -> out[0]\n" +
                    exchange(3, "out[0]", "scratch[0]") + "reduce out[0] <- scratch[0]",
                head + exchange(3, "out[0]", "scratch[0]") + "reduce out[0] <- scratch[0]\n" +
                    exchange(0, "out[0]", "scratch[0]") + "reduce scratch[0] -> out[0]",
                head + exchange(2, "out[0]", "scratch[0]") + "reduce scratch[0] -> out[0]\n" +
                    exchange(1, "out[0]", "scratch[0]") + "reduce scratch[0] -> out[0]"});
  CHECK(prove(shape_of(Operation::allreduce, 4), doubling) == Counts{2, 8, 8, 0, 2});
  CHECK(prove(in_order(shape_of(Operation::allreduce, 4)), doubling) == Counts{2, 8, 8, 0, 2});
  // This is a chain to rank 0, which has its contribution in the output.
  const Lists chain =
      lists_of({"blocks in 0 out 1 scratch 1\nreceive 1 -> scratch[0]\nwait received 1 1\n"
                "reduce out[0] <- scratch[0]",
                "blocks in 1 out 0 scratch 1\nreceive 2 -> scratch[0]\nwait received 2 1\n"
                "reduce in[0] -> scratch[0]\nsend 0 <- scratch[0]\nwait sent 0 1",
                "blocks in 1 out 0 scratch 0\nsend 1 <- in[0]\nwait sent 1 1"});
  CHECK(prove(in_order(in_place(shape_of(Operation::reduce, 3))), chain) == Counts{2, 2, 2, 0, 2});
}

TEST_CASE("scans and a reduce-scatter by hand are proved") {
  const std::string body = "blocks in 1 out 1 scratch 1\ncopy in[0] -> out[0]\n";
  const Lists chain =
      lists_of({"blocks in 1 out 1 scratch 0\ncopy in[0] -> out[0]\nsend 1 <- in[0]\nwait sent 1 1",
                body + "receive 0 -> scratch[0]\nwait received 0 1\nreduce scratch[0] -> out[0]\n"
                       "send 2 <- out[0]\nwait sent 2 1",
                body + "receive 1 -> scratch[0]\nwait received 1 1\nreduce scratch[0] -> out[0]"});
  CHECK(prove(in_order(shape_of(Operation::scan, 3)), chain) == Counts{2, 2, 2, 0, 2});
  // Rank 0 gets no defined result from exscan.
  const Lists before =
      lists_of({"blocks in 1 out 1 scratch 0\nsend 1 <- in[0]\nwait sent 1 1",
                "blocks in 1 out 1 scratch 1\nreceive 0 -> out[0]\nwait received 0 1\n"
                "copy in[0] -> scratch[0]\nreduce out[0] -> scratch[0]\nsend 2 <- scratch[0]\n"
                "wait sent 2 1",
                "blocks in 1 out 1 scratch 0\nreceive 1 -> out[0]\nwait received 1 1"});
  CHECK(prove(in_order(shape_of(Operation::exscan, 3)), before) == Counts{2, 2, 2, 0, 2});
  const Shape scatter = shape_of(Operation::reduce_scatter, 2);
  prove(scatter,
        lists_of({"blocks in 2 out 1 scratch 1\ncopy in[0] -> out[0]\n" +
                      exchange(1, "in[1]", "scratch[0]") + "reduce out[0] <- scratch[0]",
                  "blocks in 2 out 1 scratch 1\ncopy in[1] -> out[0]\n" +
                      exchange(0, "in[0]", "scratch[0]") + "reduce scratch[0] -> out[0]"}));
  // In place, all blocks are in the output, and its first block is the result.
  prove(in_place(scatter),
        lists_of({"blocks in 0 out 2 scratch 1\n" + exchange(1, "out[1]", "scratch[0]") +
                      "reduce out[0] <- scratch[0]",
                  "blocks in 0 out 2 scratch 1\n" + exchange(0, "out[0]", "scratch[0]") +
                      "reduce scratch[0] -> out[1]\ncopy out[1] -> out[0]"}));
}

// Offload thesis, Table 2.2: a barrier by recursive doubling, all of it posted at the start.
TEST_CASE("a barrier with held and enabled sends is proved") {
  const auto rank = [](int first, int second) {
    const std::string a = std::to_string(first);
    const std::string b = std::to_string(second);
    return "blocks in 0 out 0 scratch 0\nreceive " + a + " -> out[0+0]\nsend " + a +
           " <- out[0+0] held\nreceive " + b + " -> out[0+0]\nsend " + b +
           " <- out[0+0] held\nenable " + a + " 1\nwait received " + a + " 1\nenable " + b +
           " 1\nwait received " + b + " 1\nwait sent " + a + " 1\nwait sent " + b + " 1\nsignal";
  };
  const Lists lists = lists_of({rank(1, 2), rank(0, 3), rank(3, 0), rank(2, 1)});
  CHECK(prove(shape_of(Operation::barrier, 4), lists).messages == 8);
}

TEST_CASE("blocks of unequal sizes are the same lists, and bytes are counted") {
  const std::vector<Layout> layouts = {
      {{BlockSizes::equal(1, 3), BlockSizes::packed({3, 0, 7}), {}}},
      {{BlockSizes::equal(1, 0), BlockSizes::packed({3, 0, 7}), {}}},
      {{BlockSizes::equal(1, 7), BlockSizes::placed({20, 0, 30}, {3, 0, 7}), {}}}};
  const Lists ring = ring_allgather(3);
  const auto good = check(shape_of(Operation::allgather, 3), ring, 1, layouts);
  CHECK(good);
  const auto counts = execute(shape_of(Operation::allgather, 3), ring, 1, layouts);
  REQUIRE(counts);
  CHECK(*counts == Counts{2, 6, 6, 20, 2});
}

TEST_CASE("thousands of ranks with short lists, and hundreds with long ones, are proved") {
  CHECK(prove(shape_of(Operation::bcast, 8192), binomial_bcast(8192)).rounds == 13);
  CHECK(prove(shape_of(Operation::allgather, 2048), doubling_allgather(2048)).rounds == 11);
  CHECK(prove(shape_of(Operation::alltoall, 300), flat_alltoall(300)).messages == 300 * 299);
}

}  // namespace right_lists_test
