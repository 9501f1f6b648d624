// Sizes of a terminal on their way down to the rank that has one.
#include <catch2/catch.hpp>

#include "tests/support/tree_harness.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace window_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;
using scela::nla::testing::TreeHarness;

namespace {

using Windows = std::vector<WindowSize>;

constexpr WindowSize kSmall{24, 80, 0, 0};
constexpr WindowSize kLarge{50, 200, 1600, 900};

// Seven hosts in a chain, two ranks each; the last host's second rank has a terminal.
TreeHarness tree_with_a_terminal(OnFailure on_failure = OnFailure::kill) {
  TreeHarness tree(7, 1);
  if (on_failure == OnFailure::wait) tree.shell.adopt_ms = 1000;
  tree.begin();
  Job job = TreeHarness::job(7, 2, on_failure);
  job.terminal_ranks = RankSet::single(13);
  tree.launch(std::move(job));
  REQUIRE(tree.shell.launched);
  return tree;
}

void resize(TreeHarness& tree, const WindowSize& size) {
  tree.post(0, event::WindowChanged{size});
  tree.run();
}

bool resizes_here(const Chain& chain) {
  return std::any_of(chain.actions.begin(), chain.actions.end(), [](const Action& action) {
    return std::holds_alternative<action::ResizeTerminal>(action);
  });
}

}  // namespace

TEST_CASE("a new size of the terminal reaches the node of its rank, and no other") {
  TreeHarness tree = tree_with_a_terminal();
  resize(tree, kLarge);
  resize(tree, kSmall);
  CHECK(tree.node(6).windows == Windows{kLarge, kSmall});
  for (std::uint32_t host = 0; host < 6; ++host)
    CHECK(tree.node(host).windows.empty());
}

TEST_CASE("a size before the launch, or in a job without a terminal, goes nowhere") {
  TreeHarness tree(2, 1);
  tree.begin();
  const std::uint64_t before = tree.links.sends;
  resize(tree, kLarge);
  CHECK(tree.links.sends == before);
  tree.launch(TreeHarness::job(2, 1));
  const std::uint64_t launched = tree.links.sends;
  resize(tree, kLarge);
  CHECK(tree.links.sends == launched);
}

TEST_CASE("an agent that is adopted learns the size that it missed") {
  TreeHarness tree = tree_with_a_terminal(OnFailure::wait);
  resize(tree, kSmall);
  tree.links.hold_attach = true;
  tree.crash(5);
  tree.run();
  resize(tree, {30, 100, 0, 0});
  resize(tree, kLarge);
  CHECK(tree.node(6).windows == Windows{kSmall});
  tree.release_attach();
  REQUIRE_FALSE(tree.node(6).windows.empty());
  CHECK(tree.node(6).windows.back() == kLarge);
  CHECK(tree.node(6).windows.size() == 2);
}

TEST_CASE("a size for a terminal that no rank below has breaks the protocol") {
  Chain chain;
  SECTION("no rank has one") {
    chain.launch();
    chain.from(kParentLink, msg::Resize{kLarge});
    CHECK(chain.sent<msg::Log>(kParentLink).size() == 1);
  }
  SECTION("a rank elsewhere has it") {
    chain.terminal_ranks = RankSet::single(7);
    chain.launch();
    chain.from(kParentLink, msg::Resize{kLarge});
    CHECK(chain.sent<msg::Log>(kParentLink).size() == 1);
  }
  SECTION("it comes before the job") {
    chain.from(kParentLink, msg::Resize{kLarge});
    CHECK(chain.sent<msg::Log>(kParentLink).size() == 1);
  }
  CHECK_FALSE(resizes_here(chain));
  CHECK(chain.sent<msg::Resize>(1).empty());
}

TEST_CASE("a size is passed on, or kept here, but never both") {
  Chain chain;
  SECTION("its rank is here") {
    chain.terminal_ranks = RankSet::single(1);
    chain.launch();
    chain.from(kParentLink, msg::Resize{kLarge});
    CHECK(resizes_here(chain));
    CHECK(chain.sent<msg::Resize>(1).empty());
  }
  SECTION("its rank is below") {
    chain.terminal_ranks = RankSet::single(4);
    chain.launch();
    chain.from(kParentLink, msg::Resize{kLarge});
    CHECK_FALSE(resizes_here(chain));
    CHECK(chain.sent<msg::Resize>(1) == std::vector<msg::Resize>{msg::Resize{kLarge}});
  }
}

}  // namespace window_test
