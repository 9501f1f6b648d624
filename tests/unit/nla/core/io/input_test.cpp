// Tests standard input on its way down: which agents it is sent to, and that it stays where it is
// once no rank takes it.
#include <catch2/catch.hpp>

#include "tests/support/tree_harness.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace input_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;
using scela::nla::testing::TreeHarness;

namespace {

constexpr std::uint64_t kPiece = 1000;

Chunk piece() {
  return Chunk(std::string(kPiece, 'i'));
}

bool writes_here(const Chain& chain) {
  return std::any_of(chain.actions.begin(), chain.actions.end(), [](const Action& action) {
    return std::holds_alternative<action::WriteStdin>(action);
  });
}

// Two hosts under the root in one chain, two ranks each, all of them running.
TreeHarness tree_with_input_for(const RankSet& targets) {
  TreeHarness tree(2, 1);
  tree.begin();
  Job job = TreeHarness::job(2, 2);
  job.stdin_ranks = targets;
  tree.launch(std::move(job));
  REQUIRE(tree.shell.launched);
  return tree;
}

// Returns how much the root reads of an input without end.
std::uint64_t read_on(TreeHarness& tree) {
  constexpr std::uint64_t kMuch = std::uint64_t{64} << 20;
  std::uint64_t read = 0;
  while (tree.shell.input_wanted > 0 && read < kMuch) {
    const std::uint64_t now = std::min<std::uint64_t>(tree.shell.input_wanted, kMaxPiece);
    tree.shell.input_wanted -= now;
    read += now;
    tree.post(0, event::StdinRead{Chunk(std::string(now, 'i')), false});
    tree.run();
  }
  return read;
}

constexpr std::uint64_t kWindow = std::uint64_t{256} * 1024;  // the root reads this far ahead

}  // namespace

TEST_CASE("an agent says once that no rank below it takes input, and then passes none on") {
  Chain chain;
  chain.stdin_ranks = RankSet::single(1);
  chain.launch();
  chain.from(kParentLink, msg::Stdin{false, piece()});
  CHECK(writes_here(chain));
  CHECK(chain.sent<msg::Stdin>(1).empty());
  CHECK(chain.sent<msg::StdinTaken>(kParentLink).empty());
  SECTION("the rank closed its input") {
    chain.give(event::StdinClosed{1});
  }
  SECTION("the rank ended") {
    chain.give(event::RankExited{1, {}});
  }
  CHECK(chain.sent<msg::StdinTaken>(kParentLink) ==
        std::vector<msg::StdinTaken>{msg::StdinTaken{kPiece, true}});
  chain.give(event::StdinTaken{kPiece});
  CHECK(chain.actions.empty());
  chain.from(kParentLink, msg::Stdin{false, piece()});
  CHECK(chain.actions.empty());
}

TEST_CASE("an agent that owes no answer says with the next bytes that no rank takes input") {
  Chain chain;
  chain.stdin_ranks = RankSet::single(1);
  chain.launch();
  chain.give(event::StdinClosed{1});
  CHECK(chain.actions.empty());
  chain.from(kParentLink, msg::Stdin{false, piece()});
  CHECK_FALSE(writes_here(chain));
  CHECK(chain.sent<msg::StdinTaken>(kParentLink) ==
        std::vector<msg::StdinTaken>{msg::StdinTaken{kPiece, true}});
}

TEST_CASE("a rank that takes no input does not keep it from others") {
  Chain chain;
  chain.stdin_ranks.add(0);
  chain.stdin_ranks.add(1);
  chain.stdin_ranks.add(4);
  chain.launch();
  chain.from(kParentLink, msg::Stdin{false, piece()});
  REQUIRE(chain.sent<msg::Stdin>(1).size() == 1);
  SECTION("another rank of the node") {
    chain.from(1, msg::StdinTaken{kPiece, true});
    chain.give(event::StdinClosed{1});
    CHECK(chain.sent<msg::StdinTaken>(kParentLink).empty());
    chain.from(kParentLink, msg::Stdin{false, piece()});
    CHECK(writes_here(chain));
    CHECK(chain.sent<msg::Stdin>(1).empty());
    chain.give(event::StdinTaken{2 * kPiece});
    CHECK(chain.sent<msg::StdinTaken>(kParentLink) ==
          std::vector<msg::StdinTaken>{msg::StdinTaken{2 * kPiece, false}});
  }
  SECTION("ranks below") {
    chain.give(event::StdinClosed{0});
    chain.give(event::RankExited{1, {}});
    CHECK(chain.sent<msg::StdinTaken>(kParentLink).empty());
    chain.from(kParentLink, msg::Stdin{false, piece()});
    CHECK_FALSE(writes_here(chain));
    CHECK(chain.sent<msg::Stdin>(1).size() == 1);
    chain.from(1, msg::StdinTaken{2 * kPiece, false});
    CHECK(chain.sent<msg::StdinTaken>(kParentLink) ==
          std::vector<msg::StdinTaken>{msg::StdinTaken{2 * kPiece, false}});
  }
}

TEST_CASE("the root reads on while a rank takes input, and not when none does") {
  SECTION("all of them") {
    TreeHarness tree = tree_with_input_for(RankSet::run(0, 4));
    CHECK(read_on(tree) >= 100 * kWindow);
  }
  SECTION("one of them, the others have ended or closed it") {
    TreeHarness tree = tree_with_input_for(RankSet::run(0, 4));
    tree.exit(0);
    tree.post_to_host(0, event::StdinClosed{1});
    tree.exit(3);
    CHECK(read_on(tree) >= 100 * kWindow);
  }
  SECTION("none: it has ended, another of its node has not") {
    TreeHarness tree = tree_with_input_for(RankSet::single(0));
    tree.exit(0);
    CHECK(read_on(tree) <= kWindow);
  }
  SECTION("none: it has closed its input and runs") {
    TreeHarness tree = tree_with_input_for(RankSet::single(2));
    tree.post_to_host(1, event::StdinClosed{2});
    CHECK(read_on(tree) <= kWindow);
  }
  SECTION("none of them all") {
    TreeHarness tree = tree_with_input_for(RankSet::run(0, 4));
    tree.exit(0);
    tree.post_to_host(0, event::StdinClosed{1});
    tree.exit(3);
    tree.post_to_host(1, event::StdinClosed{2});
    CHECK(read_on(tree) <= kWindow);
  }
}

}  // namespace input_test
