// Tests that the messages of one rank keep their order, by whichever way each of them comes.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "comm-channel/shm/factory.h"

namespace scela::channel::shm::order_test {
namespace {

// Two senders and a reader that take turns in one thread.
struct Node {
  Node() : segment(std::move(*make_segment(shape_for(3, 256)))) {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      links.push_back(std::move(*join_node(segment, rank)));
    for (const auto& link : links)
      link->settle();
  }
  bool send(std::uint32_t from) { return links[from]->send_small(0, Header{{sent++, 0, 0}}, {}); }
  void poll() {
    while (links[0]->poll([&](std::uint32_t, const Header& header, auto) {
      got.push_back(header.words[0]);
    }) != 0) {
    }
  }
  Inbox<SharedAtomic> inbox() const {
    const auto area = segment->area(0);
    return {&area.mailbox->tail, area.cells, log2_of(segment->shape().cells)};
  }

  SharedSegment segment;
  std::vector<std::unique_ptr<NodeLink>> links;
  std::uint64_t sent = 0;
  std::vector<std::uint64_t> got;
};

std::vector<std::uint64_t> up_to(std::uint64_t end) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < end; ++i)
    all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("shm order: a message in a box waits for earlier ones in the inbox") {
  Node node;
  const std::uint32_t often = FastBoxPolicy{}.often;
  for (std::uint32_t i = 0; i < often; ++i)
    REQUIRE(node.send(1));
  node.poll();
  REQUIRE(node.links[0]->boxes_given() == 1);
  // Another sender has reserved the next cell and has not filled it yet.
  const auto held = reserve(node.inbox(), 2);
  REQUIRE(held);
  // The message goes by the inbox, behind that cell. The sender sees its box now.
  REQUIRE(node.send(1));
  for (int i = 0; i < 5; ++i)
    REQUIRE(node.send(1));  // by the box
  node.poll();
  CHECK(node.got == up_to(often));
  auto& cell = node.inbox().cell(*held);
  cell.number = 0;
  cell.length = 0;
  cell.header = Header{{node.sent, 0, 0}};
  publish(node.inbox(), *held, 2);
  node.poll();
  std::vector<std::uint64_t> expected = up_to(node.sent);
  expected.insert(expected.begin() + often, node.sent);
  CHECK(node.got == expected);
}

TEST_CASE("shm order: a message in the inbox waits for earlier ones in the sender's box") {
  Node node;
  for (std::uint32_t i = 0; i <= FastBoxPolicy{}.often; ++i) {
    REQUIRE(node.send(1));
    node.poll();
  }
  const auto area = node.segment->area(0);
  REQUIRE(area.boxes[0].given.load() == 2);
  for (int i = 0; i < 40; ++i)
    REQUIRE(node.send(1));
  // The box is taken back, so the sender uses the inbox. One poll sees that message at once, but
  // only the first dozen of those in the box.
  area.boxes[0].given.store(0);
  REQUIRE(node.send(1));
  node.poll();
  CHECK(node.got == up_to(node.sent));
}

TEST_CASE("shm order: a full inbox and a full box take no more, and lose nothing") {
  Node node;
  std::uint64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    while (node.send(1)) {
    }
    --node.sent;  // the last one was refused
    CHECK(node.sent > before);
    before = node.sent;
    node.poll();
    CHECK(node.got == up_to(node.sent));
  }
  CHECK(before >= 2 * node.segment->shape().box_lines);
}

}  // namespace scela::channel::shm::order_test
