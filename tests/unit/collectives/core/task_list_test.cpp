#include "collectives/core/task_list.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <utility>

#include "common/core/random.h"

namespace task_list_test {

using namespace scela;
using namespace scela::collectives;

namespace {

Blocks random_blocks(Random& random) {
  constexpr auto kMax = std::numeric_limits<std::uint32_t>::max();
  Blocks out;
  out.space = static_cast<Space>(random.below(3));
  out.first = static_cast<std::uint32_t>(random.chance(1, 8) ? kMax - 3 : random.below(200));
  out.count = static_cast<std::uint32_t>(random.below(4));
  return out;
}

// Sets only the fields that the kind has, because the others have no text.
Task random_task(Random& random) {
  Task out;
  out.kind = static_cast<Kind>(random.below(8));
  const bool has_peer =
      out.kind != Kind::copy && out.kind != Kind::reduce && out.kind != Kind::signal;
  if (has_peer) out.peer = static_cast<int>(random.below(5000));
  switch (out.kind) {
    case Kind::send:
      out.held = random.chance(1, 2);
      out.from = random_blocks(random);
      break;
    case Kind::receive:
      out.to = random_blocks(random);
      break;
    case Kind::wait_sent:
    case Kind::wait_received:
    case Kind::enable:
      out.count = static_cast<std::uint32_t>(random.next());
      break;
    case Kind::reduce:
      out.from_right = random.chance(1, 2);
      [[fallthrough]];
    case Kind::copy:
      out.from = random_blocks(random);
      out.to = random_blocks(random);
      break;
    case Kind::signal:
      break;
  }
  return out;
}

std::string why_not(const std::string& text) {
  const auto list = parse(text);
  REQUIRE_FALSE(list);
  return list.error().where + ": " + list.error().why;
}

}  // namespace

TEST_CASE("a task list is read as its header says that it is written") {
  const auto list = parse(
      "# what rank 1 of 8 does\n"
      "blocks in 1 out 8 scratch 2\n"
      "\n"
      "copy in[0] -> out[3]   # its own\n"
      "receive 2 -> out[2+2]\n"
      "  send 2 <- out[3]\r\n"
      "send 2 <- out[0+0] held\n"
      "wait received 2 1\n"
      "wait sent 2 1\n"
      "reduce scratch[0] -> out[0]\n"
      "reduce out[0] <- scratch[1]\n"
      "enable 2 1\n"
      "signal");
  REQUIRE(list);
  CHECK(list->blocks[0] == 1);
  CHECK(list->blocks[1] == 8);
  CHECK(list->blocks[2] == 2);
  const std::vector<Task>& tasks = list->tasks;
  REQUIRE(tasks.size() == 10);
  CHECK(tasks[0] ==
        Task{Kind::copy, false, false, -1, 0, {Space::input, 0, 1}, {Space::output, 3, 1}});
  CHECK(tasks[1] == Task{Kind::receive, false, false, 2, 0, {}, {Space::output, 2, 2}});
  CHECK(tasks[2] == Task{Kind::send, false, false, 2, 0, {Space::output, 3, 1}, {}});
  CHECK(tasks[3] == Task{Kind::send, true, false, 2, 0, {Space::output, 0, 0}, {}});
  CHECK(tasks[4] == Task{Kind::wait_received, false, false, 2, 1, {}, {}});
  CHECK(tasks[5] == Task{Kind::wait_sent, false, false, 2, 1, {}, {}});
  CHECK(tasks[6] ==
        Task{Kind::reduce, false, false, -1, 0, {Space::scratch, 0, 1}, {Space::output, 0, 1}});
  CHECK(tasks[7] ==
        Task{Kind::reduce, false, true, -1, 0, {Space::scratch, 1, 1}, {Space::output, 0, 1}});
  CHECK(tasks[8] == Task{Kind::enable, false, false, 2, 1, {}, {}});
  CHECK(tasks[9] == Task{});
  CHECK(to_text(*list) ==
        "blocks in 1 out 8 scratch 2\n"
        "copy in[0] -> out[3]\n"
        "receive 2 -> out[2+2]\n"
        "send 2 <- out[3]\n"
        "send 2 <- out[0+0] held\n"
        "wait received 2 1\n"
        "wait sent 2 1\n"
        "reduce scratch[0] -> out[0]\n"
        "reduce out[0] <- scratch[1]\n"
        "enable 2 1\n"
        "signal\n");
}

TEST_CASE("random task lists come back from their text") {
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    TaskList list;
    for (auto& blocks : list.blocks)
      blocks = static_cast<std::uint32_t>(random.next());
    for (auto left = random.below(12); left > 0; --left)
      list.tasks.push_back(random_task(random));
    const auto again = parse(to_text(list));
    REQUIRE(again);
    REQUIRE(*again == list);
  }
}

TEST_CASE("an error in a task list's text names line and word") {
  CHECK(parse("").error().why == "there is no line that says how many blocks it has");
  CHECK(why_not("signal\n") == "line 1, word 1: 'signal' is not 'blocks'");
  CHECK(why_not("blocks in 1 out 2\n") == "line 1, word 6: the line ends, where a word is missing");
  CHECK(why_not("blocks in 1 out -2 scratch 0\n") ==
        "line 1, word 5: '-2' is not a number in range");
  CHECK(why_not("blocks in 1 out 4294967296 scratch 0\n") ==
        "line 1, word 5: '4294967296' is not a number in range");
  const std::string head = "blocks in 1 out 2 scratch 0\n\n";
  CHECK(why_not(head + "sned 1 <- in[0]") ==
        "line 3, word 1: 'sned' is not 'copy' or 'receive' or 'send' or 'reduce' or 'enable' or "
        "'signal' or 'wait'");
  CHECK(why_not(head + "send -1 <- in[0]") == "line 3, word 2: '-1' is not a number in range");
  CHECK(why_not(head + "send 1 -> in[0]") == "line 3, word 3: '->' is not '<-'");
  for (const char* blocks : {"in", "in[", "in[]", "in[0", "in0]", "in[1+]", "in[+1]", "in[1+2+3]",
                             "in[-1]", "inn[0]", "in[4294967295+1]", "in[x]", "in[0]x"}) {
    CHECK(why_not(head + "send 1 <- " + blocks) ==
          "line 3, word 4: '" + std::string(blocks) +
              "' is not in[FIRST], out[FIRST+COUNT] or scratch[...]");
  }
  CHECK(why_not(head + "send 1 <- in[0] hold") == "line 3, word 5: 'hold' is not 'held'");
  CHECK(why_not(head + "send 1 <- in[0] held 1") == "line 3, word 6: '1' is one word too many");
  CHECK(why_not(head + "wait 1 1") == "line 3, word 2: '1' is not 'received' or 'sent'");
  CHECK(why_not(head + "reduce in[0] = out[0]") == "line 3, word 3: '=' is not '->' or '<-'");
  CHECK(why_not(head + "signal 1") == "line 3, word 2: '1' is one word too many");
}

}  // namespace task_list_test
