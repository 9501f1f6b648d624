// Tests which tasks of a list are on which queue of an adapter.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/core/offload.h"

namespace scela::collectives::offload_plan_test {
namespace {

std::string planned(const char* text, const Layout& layout) {
  const auto list = parse(text);
  REQUIRE(list);
  return "\n" + to_text(plan_offload(*list, layout));
}

Layout equal(std::uint32_t in, std::uint32_t out, std::uint32_t scratch, std::uint64_t bytes) {
  Layout layout;
  layout.spaces = {BlockSizes::equal(in, bytes), BlockSizes::equal(out, bytes),
                   BlockSizes::equal(scratch, bytes)};
  return layout;
}

// "Offloading collective communication", Table 2.2: there are a receive and a held send for each
// peer. The management queue alternates between the release of a send and the wait for its peer's.
TEST_CASE("offload plan: the barrier of Table 2.2") {
  Shape shape;
  shape.operation = Operation::barrier;
  shape.ranks = 8;
  const TaskList list = find(Operation::barrier, "recursive-doubling")->build(shape, 0);
  std::string waits;
  int announced = 0;
  int sent = 0;
  for (const OffloadTask& task : plan_offload(list, {}).tasks) {
    if (task.kind == OffloadTask::Kind::announce) ++announced;
    if (task.kind == OffloadTask::Kind::send) waits += " send " + std::to_string(task.peer);
    if (task.kind == OffloadTask::Kind::send) ++sent;
    if (task.kind == OffloadTask::Kind::wait_received)
      waits += " wait " + std::to_string(task.peer);
  }
  CHECK(announced == 3);
  CHECK(sent == 3);
  CHECK(waits == " send 1 wait 1 send 2 wait 2 send 4 wait 4");
}

TEST_CASE("offload plan: messages, copies and calculations stand in the order of the list") {
  CHECK(planned("blocks in 1 out 2 scratch 1\n"
                "copy in[0] -> out[0]\n"
                "receive 1 -> scratch[0]\n"
                "send 1 <- out[0]\n"
                "wait received 1 1\n"
                "reduce scratch[0] -> out[0]\n"
                "reduce out[0] <- scratch[0]\n"
                "wait sent 1 1\n"
                "signal\n",
                equal(1, 2, 1, 8)) ==
        "\ncopy in@0+8 -> out@0+8\n"
        "wait copies 1\n"
        "announce 1 scratch@0+8\n"
        "send 1 out@0+8\n"
        "wait received 1 1\n"
        "reduce scratch@0+8 -> out@0+8\n"
        "reduce out@0+8 <- scratch@0+8\n"
        "wait sent 1 1\n"
        "signal\n");
}

TEST_CASE("offload plan: a held send stands where it is enabled") {
  CHECK(planned("blocks in 0 out 2 scratch 0\n"
                "receive 1 -> out[1]\n"
                "send 2 <- out[1] held\n"
                "send 2 <- out[0]\n"
                "wait received 1 1\n"
                "enable 2 1\n"
                "wait sent 2 2\n",
                equal(0, 2, 0, 4)) ==
        "\nannounce 1 out@4+4\n"
        "send 2 out@0+4\n"
        "wait received 1 1\n"
        "send 2 out@4+4\n"
        "wait sent 2 2\n");
}

TEST_CASE("offload plan: copies that depend on each other wait, others go at once") {
  CHECK(planned("blocks in 2 out 3 scratch 0\n"
                "copy in[0] -> out[0]\n"
                "copy in[1] -> out[1]\n"
                "copy out[1] -> out[2]\n"
                "copy out[2] -> out[2]\n",
                equal(2, 3, 0, 8)) ==
        "\ncopy in@0+8 -> out@0+8\n"
        "copy in@8+8 -> out@8+8\n"
        "wait copies 2\n"
        "copy out@8+8 -> out@16+8\n"
        "wait copies 1\n");
}

TEST_CASE("offload plan: blocks that are no run are sent and received as one") {
  Layout layout;
  layout.spaces[0] = BlockSizes::placed({0, 10}, {4, 6});
  layout.spaces[1] = BlockSizes::placed({0, 20}, {3, 7});
  CHECK(planned("blocks in 2 out 2 scratch 0\n"
                "receive 1 -> out[0+2]\n"
                "send 1 <- in[0+2]\n"
                "wait received 1 1\n"
                "wait sent 1 1\n",
                layout) ==
        "\nannounce 1 staging@0+10\n"
        "copy in@0+4 -> staging@10+4\n"
        "copy in@10+6 -> staging@14+6\n"
        "wait copies 2\n"
        "send 1 staging@10+10\n"
        "wait received 1 1\n"
        "copy staging@0+3 -> out@0+3\n"
        "copy staging@3+7 -> out@20+7\n"
        "wait copies 2\n"
        "wait sent 1 1\n");
}

TEST_CASE("offload plan: a block too large for one request is cut, and waits count the parts") {
  const std::string text = planned(
      "blocks in 0 out 1 scratch 1\n"
      "receive 1 -> scratch[0]\n"
      "wait received 1 1\n"
      "reduce scratch[0] -> out[0]\n",
      equal(0, 1, 1, kLongestRequest + 8));
  CHECK(text.find("\nannounce 1 scratch@0+1073741824\n"
                  "announce 1 scratch@1073741824+8\n"
                  "wait received 1 2\n"
                  "reduce scratch@0+524288 -> out@0+524288\n") == 0);
  CHECK(text.find("reduce scratch@1073741824+8 -> out@1073741824+8\n") != std::string::npos);
}

// 128 ranks, with three queue pairs for each peer (O25).
TEST_CASE("offload plan: queue pairs of allgathers among 128 ranks, as the thesis counts them") {
  const auto pairs = [](const char* algorithm, int rank) {
    Shape shape;
    shape.operation = Operation::allgather;
    shape.ranks = 128;
    const TaskList list = find(Operation::allgather, algorithm)->build(shape, rank);
    return 3 * plan_offload(list, equal(1, 128, list.blocks[2], 8)).peers.size();
  };
  for (const int rank : {0, 77}) {
    CHECK(pairs("standard-exchange", rank) == 21);
    CHECK(pairs("ring", rank) == 6);
  }
  // The rank 64 ahead and the rank 64 behind are the same.
  CHECK(pairs("bruck", 5) == 3 * 13);
}

}  // namespace
}  // namespace scela::collectives::offload_plan_test
