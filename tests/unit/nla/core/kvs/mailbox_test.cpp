// Tests messages that come in pieces, at the agent of their destination.
#include "nla/core/kvs/mailbox.h"

#include <catch2/catch.hpp>

#include "tests/support/tree_harness.h"

namespace mailbox_test {

using namespace scela;
using namespace scela::nla;

namespace {

constexpr std::uint64_t kMax = 4096;
constexpr std::uint32_t kTag = kServiceTags + 3;

// The node of rank 0, in a job of eight nodes.
struct Receiver {
  explicit Receiver(Mailbox::Bounds bounds = {kMax, kMax, kMax, kMax})
      : mailbox(context, children, bounds) {
    context.job = testing::TreeHarness::job(8, 1);
    context.node = 0;
    context.own_ranks = context.subtree_ranks = RankSet::single(0);
    context.out = &actions;
  }
  void piece(Rank source, std::uint32_t tag, std::uint64_t total, std::uint64_t offset,
             std::size_t size) {
    const char letter = static_cast<char>('a' + source);
    CHECK(mailbox.receive({source, 0, tag, total, offset, Chunk(std::string(size, letter))}));
  }
  // Returns the messages that are whole since the last call: the first letter and the length of
  // each.
  std::string take() {
    std::string out;
    for (const Action& action : std::exchange(actions, {})) {
      const auto* reply = std::get_if<action::Reply>(&action);
      if (reply == nullptr || reply->response.parts.empty()) continue;
      const std::string_view bytes = reply->response.parts.back().view();
      CHECK(bytes.find_first_not_of(bytes.front()) == std::string_view::npos);
      out += bytes.front() + std::to_string(bytes.size()) + ' ';
    }
    return out;
  }
  Context context;
  Children children{context};
  Actions actions;
  Mailbox mailbox;
};

}  // namespace

TEST_CASE("an incomplete message does not spoil the next one") {
  Receiver node;
  const std::uint32_t tag = GENERATE(1u, kTag);
  if (tag < kServiceTags) node.mailbox.ask(0, 1, ask::Receive{3, tag});
  node.piece(3, tag, 30, 0, 10);
  node.piece(3, tag, 30, 20, 10);  // the second one was lost
  CHECK(node.mailbox.held_bytes() == 0);
  node.piece(3, tag, 30, 0, 10);
  node.piece(3, tag, 25, 0, 10);  // and so was the rest of this one
  node.piece(3, tag, 25, 10, 15);
  CHECK(node.take() == "d25 ");
  CHECK(node.mailbox.held_bytes() == 0);
}

TEST_CASE("incomplete messages have a bound, and others pass") {
  Receiver node;
  const bool service = GENERATE(true, false);
  const std::uint32_t first = service ? kServiceTags : 0;
  if (!service) node.mailbox.ask(0, 1, ask::Receive{2, 5});
  for (std::uint32_t i = 0; i < 5000; ++i) {
    node.piece(1 + i % 7, first + (i / 7) % (service ? 16 : 500), 1u << 20, 0, 1 + i % 900);
    REQUIRE(node.mailbox.held_bytes() <= kMax);
  }
  node.piece(2, first + 5, 40, 0, 10);
  node.piece(2, first + 5, 40, 10, 10);
  node.piece(4, first + 6, 1u << 20, 0, 900);
  node.piece(2, first + 5, 40, 20, 20);
  CHECK(node.take() == "c40 ");
  // A single message may be as large as any message may be, if a rank waits for it.
  if (!service) node.mailbox.ask(0, 2, ask::Receive{2, 5});
  for (std::uint64_t at = 0; at < 10 * kMax; at += 1024)
    node.piece(2, first + 5, 10 * kMax, at, 1024);
  CHECK(node.take() == "c40960 ");
}

TEST_CASE("pieces that follow nothing leave nothing behind") {
  Receiver node;
  for (std::uint32_t tag = 0; tag < 100; ++tag)
    node.piece(1, tag, 20, 10, 10);
  CHECK(node.mailbox.boxes() == 0);
  node.piece(1, 5, 10, 0, 10);
  CHECK(node.mailbox.boxes() == 1);
  node.mailbox.ask(0, 1, ask::Receive{1, 5});
  CHECK(node.take() == "b10 ");
  CHECK(node.mailbox.boxes() == 0);
}

TEST_CASE("messages of one node's ranks push out those of that node, and no others") {
  Receiver node({1u << 20, kMax, kMax, kMax});
  node.piece(4, kTag, 20, 0, 10);
  node.piece(2, kTag, 20, 0, 10);
  for (std::uint64_t at = 0; at < 100'000; at += 1000)  // node of rank 3
    node.piece(3, kServiceTags + at / 1000 % 16, 1u << 20, 0, 1000);
  CHECK(node.mailbox.held_bytes() <= kMax + 20);
  node.piece(2, kTag, 20, 10, 10);
  node.piece(4, kTag, 20, 10, 10);
  CHECK(node.take() == "c20 e20 ");
}

TEST_CASE("messages that no rank receives are dropped beyond a bound, and receivers are told") {
  Receiver node({kMax, kMax, kMax, kMax / 2});
  for (std::uint32_t tag = 0; tag < 1000; ++tag) {
    node.piece(1, tag, 100, 0, 100);
    REQUIRE(node.mailbox.held_bytes() <= kMax / 2);
  }
  // Messages that came before the bound was reached arrive, in order.
  node.mailbox.ask(0, 1, ask::Receive{1, 0});
  CHECK(node.take() == "b100 ");
  const auto refused = [&](Rank source, std::uint32_t tag) {
    node.take();
    node.mailbox.ask(0, 2, ask::Receive{source, tag});
    if (node.actions.size() != 1) return false;
    const Response told = std::get<action::Reply>(node.actions[0]).response;
    return !told.ok && told.error.find("messages of rank 1 to rank 0 were dropped") == 0;
  };
  CHECK(refused(1, 999));
  // There is room again, and nothing later takes the place of what was dropped.
  node.piece(1, 999, 50, 0, 50);
  CHECK(refused(1, 999));
  // Ranks of other nodes have room of their own.
  node.piece(2, 3, 100, 0, 100);
  node.mailbox.ask(0, 3, ask::Receive{2, 3});
  CHECK(node.take() == "c100 ");
}

TEST_CASE("a message longer than a rank may put breaks the protocol") {
  Receiver node;
  CHECK_FALSE(node.mailbox.receive({1, 0, 7, (4u << 20) + 1, 0, Chunk(std::string(10, 'b'))}));
  CHECK_FALSE(node.mailbox.receive({1, 0, kTag, 33u << 20, 0, Chunk(std::string(10, 'b'))}));
}

}  // namespace mailbox_test
