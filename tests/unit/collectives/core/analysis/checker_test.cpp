// Tests lists that are wrong in just one way. Each is refused with the rank, the task and the
// reason.
#include "collectives/core/analysis/checker.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "collectives/core/analysis/schedule.h"
#include "common/core/random.h"
#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace checker_test {

using namespace scela;
using namespace scela::collectives;

namespace {

const std::string kNoBlocks = "blocks in 0 out 0 scratch 0\n";
const std::string kOutput = "blocks in 0 out 1 scratch 0\n";
const std::string kScratch = "blocks in 0 out 0 scratch 2\n";

// Returns the refusal, for example "rank 1, task 0 'signal': why"; empty if there is none.
std::string refusal(const Shape& shape, const Lists& lists, std::uint32_t parts = 1,
                    std::span<const Layout> layouts = {}) {
  const auto good = check(shape, lists, parts, layouts);
  if (good) return "";
  return good.error().where + ": " + good.error().why;
}

// Returns the refusal of lists for a barrier, which only requires that the lists fit together.
std::string refusal(std::initializer_list<std::string> texts) {
  return refusal(shape_of(Operation::barrier, static_cast<int>(texts.size())), lists_of(texts));
}

}  // namespace

TEST_CASE("a receive without a send is refused, and a send without a receive") {
  CHECK(refusal({kNoBlocks + "send 1 <- out[0+0]\nwait sent 1 1",
                 kNoBlocks + "receive 0 -> out[0+0]\nreceive 0 -> out[0+0]\nwait received 0 2"}) ==
        "rank 1, task 1 'receive 0 -> out[0+0]': is receive 2 from rank 0, which sends rank 1 1 "
        "message");
  CHECK(refusal({kNoBlocks, kNoBlocks + "receive 0 -> out[0+0]\nwait received 0 1"}) ==
        "rank 1, task 0 'receive 0 -> out[0+0]': is receive 1 from rank 0, which sends rank 1 0 "
        "messages");
  CHECK(
      refusal({kNoBlocks + "send 1 <- out[0+0]\nsend 1 <- out[0+0]\nwait sent 1 2",
               kNoBlocks + "receive 0 -> out[0+0]\nwait received 0 1"}) ==
      "rank 0, task 1 'send 1 <- out[0+0]': is send 2 to rank 1, which begins 1 receive from rank "
      "0");
}

TEST_CASE("messages with different block or byte counts at their two ends are refused") {
  Lists lists = flat_bcast(3);
  lists[1].tasks[0].to.count = 0;
  CHECK(refusal(shape_of(Operation::bcast, 3), lists) ==
        "rank 1: nothing writes output block 0 of 1");
  lists = ring_allgather(3);
  const Shape shape = shape_of(Operation::allgather, 3);
  lists[1].tasks[2].from.count = 0;
  CHECK(refusal(shape, lists) ==
        "rank 1, task 2 'send 2 <- out[1+0]': sends 0 blocks to rank 2, task 1 'receive 1 -> "
        "out[1]', which receives 1");
  // The number of blocks is equal, but one rank has other sizes.
  std::vector<Layout> layouts(3, Layout{{BlockSizes::equal(1, 4), BlockSizes::equal(3, 4), {}}});
  CHECK(refusal(shape, ring_allgather(3), 1, layouts).empty());
  layouts[2].spaces[1] = BlockSizes::packed({4, 5, 4});
  CHECK(refusal(shape, ring_allgather(3), 1, layouts) ==
        "rank 1, task 2 'send 2 <- out[1]': sends 4 bytes to rank 2, task 1 'receive 1 -> out[1]', "
        "which receives 5");
  // A copy between unequal sizes is refused too.
  layouts[2].spaces[1] = BlockSizes::packed({4, 4, 5});
  CHECK(refusal(shape, ring_allgather(3), 1, layouts) ==
        "rank 2, task 0 'copy in[0] -> out[2]': takes 4 bytes to 5");
}

TEST_CASE("two ranks that each wait for their own send first are refused, with the circle") {
  const auto rank = [](const std::string& peer) {
    return kNoBlocks + "send " + peer + " <- out[0+0]\nwait sent " + peer + " 1\nreceive " + peer +
           " -> out[0+0]\nwait received " + peer + " 1";
  };
  CHECK(refusal({rank("1"), rank("0")}) ==
        "rank 0, task 1 'wait sent 1 1': waits for rank 1, which is at task 1 'wait sent 0 1' and "
        "waits for rank 0");
}

TEST_CASE("a wait cycle of three ranks is refused, without naming a rank that waits for it") {
  const std::string last = kNoBlocks + "receive 1 -> out[0+0]\nwait received 1 1";
  const auto rank = [](const std::string& left, const std::string& right, const std::string& more) {
    return kNoBlocks + "receive " + left + " -> out[0+0]\nwait received " + left + " 1\nsend " +
           right + " <- out[0+0]\nwait sent " + right + " 1\n" + more;
  };
  CHECK(refusal({last, rank("3", "2", "send 0 <- out[0+0]\nwait sent 0 1"), rank("1", "3", ""),
                 rank("2", "1", "")}) ==
        "rank 1, task 1 'wait received 3 1': waits for rank 3, which is at task 1 'wait received 2 "
        "1' and waits for rank 2, which is at task 1 'wait received 1 1' and waits for rank 1");
}

TEST_CASE("a circle of many is refused with its length") {
  Lists lists = ring_allgather(100);
  for (TaskList& list : lists)
    std::swap(list.tasks[1], list.tasks[4]);  // the wait for the send comes before the receive
  for (TaskList& list : lists)
    std::swap(list.tasks[1], list.tasks[2]);
  for (TaskList& list : lists)
    std::swap(list.tasks[3], list.tasks[4]);
  const std::string text = refusal(shape_of(Operation::allgather, 100), lists);
  CHECK(text.starts_with("rank 0, task 2 'wait sent 1 1': waits for rank 1, which is at task 2"));
  CHECK(text.ends_with("... in a circle of 100 ranks"));
}

TEST_CASE("a buffer that is being received into is neither read, sent, written nor received into") {
  const std::string head = "blocks in 1 out 1 scratch 1\ncopy in[0] -> out[0]\n";
  // Rank 0 sends one message or two, and receives one or none.
  const std::string one = head + "send 1 <- in[0]\nwait sent 1 1\n";
  const auto with = [&](const std::string& first, const std::string& meanwhile,
                        const std::string& later) {
    return refusal(shape_of(Operation::scan, 2),
                   lists_of({first, head + "receive 0 -> scratch[0]\n" + meanwhile + later}));
  };
  const std::string wait = "wait received 0 1\n";
  const std::string reduce = "reduce scratch[0] -> out[0]\n";
  const std::string why =
      "scratch block 0, which task 1 'receive 0 -> scratch[0]' may still be writing: no wait has "
      "covered it";
  CHECK(with(one, wait, reduce).empty());
  CHECK(with(one, reduce, wait) == "rank 1, task 2 'reduce scratch[0] -> out[0]': reads " + why);
  CHECK(with(one, "reduce out[0] -> scratch[0]\n", wait) ==
        "rank 1, task 2 'reduce out[0] -> scratch[0]': reads " + why);
  CHECK(with(one, "copy in[0] -> scratch[0]\n", wait) ==
        "rank 1, task 2 'copy in[0] -> scratch[0]': writes " + why);
  const std::string both = head +
                           "receive 1 -> scratch[0]\nsend 1 <- in[0]\nwait sent 1 1\n"
                           "wait received 1 1\n";
  CHECK(with(both, wait + "send 0 <- scratch[0]\n", "wait sent 0 1\n").empty());
  CHECK(with(both, "send 0 <- scratch[0]\n", wait + "wait sent 0 1\n") ==
        "rank 1, task 2 'send 0 <- scratch[0]': sends " + why);
  const std::string two = head + "send 1 <- in[0]\nsend 1 <- in[0]\nwait sent 1 2\n";
  CHECK(with(two, wait + "receive 0 -> scratch[0]\n", wait).empty());
  CHECK(with(two, "receive 0 -> scratch[0]\n", wait + wait) ==
        "rank 1, task 2 'receive 0 -> scratch[0]': writes " + why);
  // A wait covers the earlier of two receives.
  const std::string large =
      "blocks in 1 out 1 scratch 2\ncopy in[0] -> out[0]\n"
      "receive 0 -> scratch[0]\nreceive 0 -> scratch[1]\nwait received 0 1\n";
  const Shape shape = shape_of(Operation::scan, 2);
  CHECK(refusal(shape, lists_of({two, large + reduce + wait})).empty());
  CHECK(refusal(shape, lists_of({two, large + "reduce scratch[1] -> out[0]\n" + wait})) ==
        "rank 1, task 4 'reduce scratch[1] -> out[0]': reads scratch block 1, which task 2 "
        "'receive 0 "
        "-> scratch[1]' may still be writing: no wait has covered it");
}

TEST_CASE("a buffer that is being sent is not written, though it may be read and sent again") {
  const auto rank = [](const std::string& task) {
    return "blocks in 1 out 1 scratch 0\ncopy in[0] -> out[0]\nsend 1 <- out[0]\nsend 2 <- out[0]\n"
           "wait sent 1 1\n" +
           task + "\nwait sent 2 1\n";
  };
  const std::string other =
      "blocks in 1 out 1 scratch 1\ncopy in[0] -> out[0]\nreceive 0 -> scratch[0]\n"
      "wait received 0 1";
  const Shape shape = shape_of(Operation::scan, 3);
  CHECK(refusal(shape, lists_of({rank(""), other, other})).empty());
  CHECK(refusal(shape, lists_of({rank("reduce in[0] -> out[0]"), other, other})) ==
        "rank 0, task 4 'reduce in[0] -> out[0]': writes output block 0, which task 2 'send 2 <- "
        "out[0]' may still be sending: no wait has covered it");
  CHECK(refusal(shape, lists_of({rank("copy in[0] -> out[0]"), other, other})) ==
        "rank 0, task 4 'copy in[0] -> out[0]': writes output block 0, which task 2 'send 2 <- "
        "out[0]' may still be sending: no wait has covered it");
}

TEST_CASE("a held send has its buffer from when it is enabled") {
  const Shape bcast = shape_of(Operation::bcast, 3, 2);
  const std::string first = kOutput + "receive 2 -> out[0]\nsend 1 <- out[0] held\n";
  const std::string second = kOutput + "receive 0 -> out[0]\nwait received 0 1";
  const std::string root = kOutput + "send 0 <- out[0]\nwait sent 0 1";
  CHECK(refusal(bcast,
                lists_of({first + "wait received 2 1\nenable 1 1\nwait sent 1 1", second, root}))
            .empty());
  CHECK(refusal(bcast,
                lists_of({first + "enable 1 1\nwait received 2 1\nwait sent 1 1", second, root})) ==
        "rank 0, task 1 'send 1 <- out[0] held': sends output block 0, which task 0 'receive 2 -> "
        "out[0]' may still be writing: no wait has covered it");
}

TEST_CASE("a list that does not wait for a message that it has begun is refused") {
  const std::string sends = kNoBlocks + "send 1 <- out[0+0]\nsend 1 <- out[0+0]\nwait sent 1 ";
  const std::string receives =
      kNoBlocks + "receive 0 -> out[0+0]\nreceive 0 -> out[0+0]\nwait received 0 ";
  CHECK(refusal({sends + "2", receives + "2"}).empty());
  CHECK(refusal({sends + "1", receives + "2"}) ==
        "rank 0, task 1 'send 1 <- out[0+0]': has begun, and nothing waits for it");
  CHECK(refusal({sends + "2", receives + "1"}) ==
        "rank 1, task 1 'receive 0 -> out[0+0]': has begun, and nothing waits for it");
}

TEST_CASE("a wait for more than has begun is refused") {
  const std::string receives = kNoBlocks + "receive 0 -> out[0+0]\nwait received 0 1";
  CHECK(refusal({kNoBlocks + "wait sent 1 1\nsend 1 <- out[0+0]", receives}) ==
        "rank 0, task 0 'wait sent 1 1': waits for 1 sends to rank 1, but 0 of those begun so far "
        "have not been waited for");
  CHECK(refusal({kNoBlocks + "send 1 <- out[0+0]\nwait sent 1 1\nwait sent 1 1", receives}) ==
        "rank 0, task 2 'wait sent 1 1': waits for 1 sends to rank 1, but 0 of those begun so far "
        "have not been waited for");
  CHECK(refusal({kNoBlocks + "send 1 <- out[0+0] held\nwait sent 1 1\nenable 1 1", receives}) ==
        "rank 0, task 1 'wait sent 1 1': waits for 1 sends to rank 1, but 0 of those begun so far "
        "have not been waited for");
  CHECK(refusal(
            {kNoBlocks + "send 1 <- out[0+0]\nwait sent 1 1", receives + "\nwait received 0 0"}) ==
        "rank 1, task 2 'wait received 0 0': waits for nothing");
}

TEST_CASE("a held send is enabled, once") {
  const std::string receives = kNoBlocks + "receive 0 -> out[0+0]\nwait received 0 1";
  const std::string held = kNoBlocks + "send 1 <- out[0+0] held\n";
  CHECK(refusal({held + "enable 1 1\nwait sent 1 1", receives}).empty());
  CHECK(refusal({held, receives}) ==
        "rank 0, task 0 'send 1 <- out[0+0] held': is held, and nothing enables it");
  CHECK(refusal({held + "enable 1 1\nwait sent 1 1\nenable 1 1", receives}) ==
        "rank 0, task 3 'enable 1 1': enables 1 sends to rank 1, but 0 are held there: 1 had been "
        "enabled before");
  CHECK(refusal({kNoBlocks + "enable 1 1\nsend 1 <- out[0+0] held\nwait sent 1 1", receives}) ==
        "rank 0, task 0 'enable 1 1': enables 1 sends to rank 1, but 0 are held there");
  CHECK(refusal({held + "enable 1 0\nenable 1 1\nwait sent 1 1", receives}) ==
        "rank 0, task 1 'enable 1 0': enables nothing");
}

TEST_CASE("an output that is written twice is refused, and one that is never written") {
  const Shape shape = shape_of(Operation::allreduce, 1);
  const std::string head = "blocks in 1 out 1 scratch 1\n";
  CHECK(refusal(shape, lists_of({head + "copy in[0] -> out[0]\ncopy in[0] -> out[0]"})) ==
        "rank 0, task 1 'copy in[0] -> out[0]': writes output block 0 again, which task 0 'copy "
        "in[0] "
        "-> out[0]' has written");
  CHECK(refusal(shape, lists_of({head + "copy in[0] -> scratch[0]\ncopy in[0] -> scratch[0]\n"
                                        "copy scratch[0] -> out[0]\nreduce in[0] -> out[0]"}))
            .empty());
  CHECK(refusal(shape, lists_of({head + "copy in[0] -> scratch[0]"})) ==
        "rank 0: nothing writes output block 0 of 1");
  CHECK(refusal(shape, lists_of({"blocks in 1 out 0 scratch 0\n"})) ==
        "rank 0: nothing writes output block 0 of 1");
  Lists lists = ring_allgather(4);
  for (int i = 0; i < 4; ++i)
    lists[3].tasks.pop_back();
  for (int i = 0; i < 4; ++i)
    lists[0].tasks.pop_back();
  CHECK_FALSE(refusal(shape_of(Operation::allgather, 4), lists).empty());
}

TEST_CASE("the input is not written, nor what a broadcast's root sends") {
  const Shape shape = shape_of(Operation::allreduce, 1);
  const std::string tasks = "copy in[0] -> out[0]\nreduce out[0] -> in[0]\n";
  CHECK(refusal(shape, lists_of({"blocks in 1 out 1 scratch 0\n" + tasks})) ==
        "rank 0, task 1 'reduce out[0] -> in[0]': writes the input, which is the caller's");
  CHECK(
      refusal(in_place(shape), lists_of({"blocks in 1 out 1 scratch 0\ncopy out[0] -> in[0]\n"})) ==
      "rank 0, task 0 'copy out[0] -> in[0]': writes the input, which is the caller's");
  CHECK(refusal(shape_of(Operation::bcast, 2),
                lists_of({kOutput + "receive 1 -> out[0]\nwait received 1 1",
                          kOutput + "send 0 <- out[0+0]\nwait sent 0 1"})) ==
        "rank 0, task 0 'receive 1 -> out[0]': writes the output, which is the caller's");
}

TEST_CASE("a block that was neither input nor written is not read") {
  const Shape shape = shape_of(Operation::allreduce, 1);
  const std::string head = "blocks in 1 out 1 scratch 1\n";
  CHECK(refusal(shape, lists_of({head + "copy scratch[0] -> out[0]"})) ==
        "rank 0, task 0 'copy scratch[0] -> out[0]': reads scratch block 0, where nothing stands "
        "that "
        "has been given or written");
  CHECK(refusal(shape, lists_of({head + "reduce in[0] -> out[0]"})) ==
        "rank 0, task 0 'reduce in[0] -> out[0]': reads output block 0, where nothing stands that "
        "has "
        "been given or written");
  CHECK(refusal(in_place(shape), lists_of({head + "copy in[0] -> scratch[0]"})) ==
        "rank 0, task 0 'copy in[0] -> scratch[0]': reads input block 0, where nothing stands that "
        "has been given or written");
}

TEST_CASE("tasks that name no such rank or block, or the same block twice, are refused") {
  CHECK(refusal({kNoBlocks + "send 1 <- out[0+0]"}) ==
        "rank 0, task 0 'send 1 <- out[0+0]': there is no rank 1 among 1");
  CHECK(refusal({kNoBlocks + "send 0 <- out[0+0]"}) ==
        "rank 0, task 0 'send 0 <- out[0+0]': a rank has no messages with itself: it copies");
  CHECK(refusal({kScratch + "copy scratch[1] -> scratch[2]"}) ==
        "rank 0, task 0 'copy scratch[1] -> scratch[2]': its scratch has 2 blocks only");
  CHECK(
      refusal({kScratch + "copy scratch[4294967295+0] -> scratch[0+0]"}) ==
      "rank 0, task 0 'copy scratch[4294967295+0] -> scratch[0+0]': its scratch has 2 blocks only");
  CHECK(refusal({kScratch + "copy scratch[0+2] -> scratch[1]"}) ==
        "rank 0, task 0 'copy scratch[0+2] -> scratch[1]': its blocks overlap");
  CHECK(refusal({kNoBlocks + "signal\nsignal\ncopy out[0+0] -> scratch[0+0]"}) ==
        "rank 0, task 2 'copy out[0+0] -> scratch[0+0]': comes after the last signal, which is the "
        "end "
        "of the operation");
}

TEST_CASE("lists that are not those of the shape are refused") {
  const Lists lists = flat_bcast(3);
  Shape shape = shape_of(Operation::bcast, 4);
  CHECK(refusal(shape, lists) == ": 3 lists for 4 ranks");
  shape = shape_of(Operation::bcast, 3, 3);
  CHECK(refusal(shape, lists) == ": root 3 is none of 3 ranks");
  shape.root = 0;
  shape.segments = 0;
  CHECK(refusal(shape, lists) ==
        ": 0 segments of 1 parts for 3 ranks are no number of blocks from 1 to 67108864");
  shape.segments = 1u << 31;
  CHECK_FALSE(refusal(shape, lists, 1u << 31).empty());
  CHECK(refusal({"blocks in 1 out 0 scratch 0"}) ==
        "rank 0: the list has 1 blocks of input, where the operation has 0");
  CHECK(refusal({"blocks in 0 out 0 scratch 4294967295"}) ==
        "rank 0: the list has 4294967295 blocks of scratch, where the operation has 67108864");
  shape.segments = 1;
  const std::vector<Layout> layouts(2);
  CHECK(refusal(shape, lists, 1, layouts) == ": 2 layouts for 3 ranks");
  CHECK(refusal(shape, lists, 1, std::span(layouts).first(1)) ==
        "rank 0: the list has 1 blocks of output, the layout 0");
}

TEST_CASE(
    "a task that is taken out, doubled or exchanged is refused, or the lists are still right") {
  Random random(11);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Lists lists = i % 2 == 0 ? doubling_allgather(8) : ring_allgather(5);
    const int ranks = static_cast<int>(lists.size());
    std::vector<Task>& tasks = lists[random.below(lists.size())].tasks;
    const auto at = static_cast<std::ptrdiff_t>(random.below(tasks.size()));
    const std::uint64_t way = random.below(3);
    if (way == 0) tasks.erase(tasks.begin() + at);
    if (way == 1) tasks.insert(tasks.begin() + at, tasks[static_cast<std::size_t>(at)]);
    if (way == 2) std::swap(tasks[static_cast<std::size_t>(at)], tasks[random.below(tasks.size())]);
    const auto good = check(shape_of(Operation::allgather, ranks), lists);
    // No task can be left out. Only a task that has no blocks or is in flight could come twice.
    if (way != 2) REQUIRE_FALSE(good);
    if (!good) ++refused;
  }
  CHECK(refused > 2000);
  CHECK(refused < 3000);
}

}  // namespace checker_test
