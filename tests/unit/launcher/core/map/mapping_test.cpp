#include "launcher/core/map/mapping.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "common/core/text.h"

namespace mapping_test {

using namespace scela;

namespace {

using Slots = std::vector<std::optional<std::uint32_t>>;
constexpr auto kNone = std::nullopt;

MapRequest request_of(const Slots& slots, std::vector<MapSegment> segments,
                      bool oversubscribe = false) {
  MapRequest request;
  for (std::size_t i = 0; i < slots.size(); ++i)
    request.nodes.push_back({cat("n", i), slots[i]});
  request.segments = std::move(segments);
  request.oversubscribe = oversubscribe;
  return request;
}

Mapping mapped(const MapRequest& request) {
  auto mapping = map_ranks(request);
  INFO((mapping ? std::string() : mapping.error().text()));
  REQUIRE(mapping);
  return std::move(*mapping);
}

// Returns the ranks of each node, for example "0-1 2".
std::string layout(const Mapping& mapping, std::size_t nodes) {
  std::string text;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::string ranks = mapping.map.ranks_of(node).text();
    text += cat(node == 0 ? "" : " ", ranks.empty() ? "-" : ranks);
  }
  return text;
}

std::string layout(const Slots& slots, std::vector<MapSegment> segments,
                   bool oversubscribe = false) {
  return layout(mapped(request_of(slots, std::move(segments), oversubscribe)), slots.size());
}

std::string refusal(const Slots& slots, std::vector<MapSegment> segments) {
  const auto mapping = map_ranks(request_of(slots, std::move(segments)));
  REQUIRE_FALSE(mapping);
  CHECK(mapping.error().kind == ErrorKind::usage);
  return mapping.error().text();
}

const Slots kFree3{kNone, kNone, kNone};

}  // namespace

TEST_CASE("without slots ranks are spread in even blocks, the first nodes get one more") {
  CHECK(layout(kFree3, {{7, kNone, {}}}) == "0-2 3-4 5-6");
  CHECK(layout(kFree3, {{6, kNone, {}}}) == "0-1 2-3 4-5");
  CHECK(layout(kFree3, {{2, kNone, {}}}) == "0 1 -");
  CHECK(layout({kNone}, {{1000, kNone, {}}}) == "0-999");
}

TEST_CASE("without a number of ranks there is one per node, ppn per node, or one per slot") {
  CHECK(layout(kFree3, {{kNone, kNone, {}}}) == "0 1 2");
  CHECK(layout(kFree3, {{kNone, 2, {}}}) == "0-1 2-3 4-5");
  CHECK(layout({2, 1, 3}, {{kNone, kNone, {}}}) == "0-1 2 3-5");
  CHECK(layout({2, 1, 3}, {{kNone, 2, {}}}) == "0-1 2 3-4");
}

TEST_CASE("ppn puts as many on each node, in order") {
  CHECK(layout(kFree3, {{4, 2, {}}}) == "0-1 2-3 -");
  CHECK(layout(kFree3, {{5, 2, {}}}) == "0-1 2-3 4");
}

TEST_CASE("stated slots are filled in order, unequal ones too") {
  CHECK(layout({4, 1, 2}, {{6, kNone, {}}}) == "0-3 4 5");
  CHECK(layout({4, 1, 2}, {{3, kNone, {}}}) == "0-2 - -");
  CHECK(layout({4, 1, 2}, {{5, 2, {}}}) == "0-1 2 3-4");
}

TEST_CASE("a host without a number among hosts with numbers has one slot") {
  CHECK(layout({2, kNone, 2}, {{5, kNone, {}}}) == "0-1 2 3-4");
}

TEST_CASE("more ranks than slots are refused with both numbers and the way out") {
  CHECK(refusal({4, 2}, {{8, kNone, {}}}) ==
        "place the ranks: the program has 8 ranks, but its hosts have 6 slots (give more slots in "
        "the host list (host:N), or allow it with --oversubscribe)");
  CHECK(refusal(kFree3, {{7, 2, {}}}) ==
        "place the ranks: the program has 7 ranks, but 3 nodes at 2 ranks a node (--ppn) hold 6 "
        "(raise --ppn, name more hosts, or allow it with --oversubscribe)");
  CHECK(refusal({4, 2}, {{4, 1, {}}}).find("its hosts have 2 slots at 1 rank a node (--ppn)") !=
        std::string::npos);
}

TEST_CASE("oversubscribed ranks start again at the first node, a block of slots at a time") {
  CHECK(layout({2, 1}, {{8, kNone, {}}}, true) == "0-1,3-4,6-7 2,5");
  CHECK(layout({4}, {{9, kNone, {}}}, true) == "0-8");
  CHECK(layout({kNone, kNone}, {{7, 2, {}}}, true) == "0-1,4-5 2-3,6");
  CHECK(layout({2, 2}, {{8, 4, {}}}, true) == "0-3 4-7");
}

TEST_CASE("zero ranks and no nodes are refused") {
  CHECK(refusal(kFree3, {{0, kNone, {}}}).find("would have no ranks") != std::string::npos);
  CHECK(refusal(kFree3, {{1, 0, {}}}).find("would have no ranks") != std::string::npos);
  CHECK(refusal({}, {{1, kNone, {}}}).find("there are no nodes") != std::string::npos);
}

TEST_CASE("a job larger than any is refused before it is placed") {
  CHECK(refusal({kNone}, {{16'777'216, kNone, {}}, {1, kNone, {}}}).find("16777217 ranks") !=
        std::string::npos);
}

TEST_CASE("programs follow each other on the slots") {
  const Mapping mapping = mapped(request_of({4, 4}, {{2, kNone, {}}, {5, kNone, {}}}));
  CHECK(layout(mapping, 2) == "0-3 4-6");
  CHECK(mapping.segments == std::vector<SegmentRanks>{{0, 2}, {2, 5}});
  CHECK(layout({4, 4}, {{3, kNone, {}}, {kNone, kNone, {}}}) == "0-3 4-7");
  CHECK(refusal({4, 4}, {{5, kNone, {}}, {5, kNone, {}}})
            .find("program 2 has 5 ranks, but its hosts have 3 free slots") != std::string::npos);
  CHECK(refusal({4}, {{4, kNone, {}}, {kNone, kNone, {}}}).find("no slot is left for program 2") !=
        std::string::npos);
}

TEST_CASE("programs without slots share even blocks of their total") {
  const Mapping mapping = mapped(request_of({kNone, kNone}, {{1, kNone, {}}, {7, kNone, {}}}));
  CHECK(layout(mapping, 2) == "0-3 4-7");
  CHECK(mapping.segments == std::vector<SegmentRanks>{{0, 1}, {1, 7}});
  CHECK(layout(kFree3, {{kNone, kNone, {}}, {kNone, kNone, {}}}) == "0-1 2-3 4-5");
}

TEST_CASE("programs with ppn go on where the one before stopped") {
  CHECK(layout({kNone, kNone}, {{1, 4, {}}, {7, 4, {}}}) == "0-3 4-7");
  CHECK(layout({kNone, kNone, kNone, kNone}, {{4, 2, {}}, {4, 2, {}}}) == "0-1 2-3 4-5 6-7");
  CHECK(layout({kNone, kNone}, {{4, 2, {}}, {4, 2, {}}}) == "0-1,4-5 2-3,6-7");
}

TEST_CASE("a program with hosts of its own stays on them") {
  CHECK(layout(kFree3, {{2, kNone, {0, 1}}, {4, kNone, {2}}}) == "0 1 2-5");
  CHECK(layout({2, 2, 2}, {{2, kNone, {}}, {3, kNone, {2, 1}}}) == "0-1 4 2-3");
}

TEST_CASE("a million ranks on a regular cluster are one block") {
  const Mapping mapping = mapped(request_of(Slots(31'250, kNone), {{1'000'000, kNone, {}}}));
  CHECK(mapping.map.blocks() == std::vector<RankMap::Block>{{0, 31'250, 32}});
}

TEST_CASE("every rank has exactly one node and limits hold, whatever is asked") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    Slots slots(1 + random.below(6));
    const bool states = random.below(2) == 0;
    for (auto& slot : slots) {
      if (states && random.below(4) != 0) slot = static_cast<std::uint32_t>(1 + random.below(5));
    }
    std::vector<MapSegment> segments(1 + random.below(3));
    for (MapSegment& segment : segments) {
      if (random.below(3) != 0) segment.np = static_cast<std::uint32_t>(1 + random.below(12));
      if (random.below(3) == 0) segment.ppn = static_cast<std::uint32_t>(1 + random.below(4));
    }
    const bool oversubscribe = random.below(2) == 0;
    const MapRequest request = request_of(slots, segments, oversubscribe);
    const auto mapping = map_ranks(request);
    if (!mapping) {
      CHECK(mapping.error().kind == ErrorKind::usage);
      continue;
    }
    std::uint64_t on_nodes = 0;
    for (std::uint32_t node = 0; node < slots.size(); ++node) {
      const std::uint64_t ranks = mapping->map.ranks_of(node).size();
      on_nodes += ranks;
      if (slots[node] && !oversubscribe) CHECK(ranks <= *slots[node]);
    }
    CHECK(on_nodes == mapping->map.size());
    Rank next = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      CHECK(mapping->segments[i].first == next);
      CHECK(mapping->segments[i].count > 0);
      if (segments[i].np) CHECK(mapping->segments[i].count == *segments[i].np);
      next += mapping->segments[i].count;
    }
    CHECK(next == mapping->map.size());
  }
}

TEST_CASE("by node each takes one in turn, within its slots, and the next program goes on") {
  const auto by_node = [](const Slots& slots, std::vector<MapSegment> segments,
                          bool oversubscribe = false) {
    MapRequest request = request_of(slots, std::move(segments), oversubscribe);
    request.by_node = true;
    return layout(mapped(request), slots.size());
  };
  CHECK(by_node(kFree3, {{7, kNone, {}}}) == "0,3,6 1,4 2,5");
  CHECK(by_node({4, 1, 2}, {{6, kNone, {}}}) == "0,3,5 1 2,4");
  CHECK(by_node({1, 2}, {{5, kNone, {}}}, true) == "0,3 1-2,4");
  CHECK(by_node(kFree3, {{5, 2, {}}}) == "0,3 1,4 2");
  CHECK(by_node(kFree3, {{2, kNone, {}}, {2, kNone, {}}}) == "0,3 1 2");
  CHECK(by_node(kFree3, {{3, kNone, {2, 0}}}) == "1 - 0,2");
}

TEST_CASE("ranks are numbered as asked, program by program, wherever they were placed") {
  const auto numbered = [](MapRequest::Numbered how, bool by_node) {
    MapRequest request = request_of({2, 1, 3}, {{4, kNone, {}}, {2, kNone, {}}});
    request.numbered = how;
    request.by_node = by_node;
    return layout(mapped(request), 3);
  };
  using enum MapRequest::Numbered;
  CHECK(numbered(as_placed, false) == "0-1 2 3-5");
  CHECK(numbered(in_turn, false) == "0,3 1 2,4-5");
  CHECK(numbered(as_placed, true) == "0,3 1 2,4-5");
  CHECK(numbered(node_after_node, true) == "0-1 2 3-5");
}

TEST_CASE("hosts that turn out to have no room are passed over, and if none has any that is said") {
  CHECK(layout({0, 3}, {{2, kNone, {}}}) == "- 0-1");
  CHECK(layout({0, 3}, {{5, kNone, {}}}, true) == "- 0-4");
  CHECK(refusal({0, 0}, {{1, kNone, {}}}).find("no host has room") != std::string::npos);
  CHECK_FALSE(map_ranks(request_of({0, 0}, {{1, kNone, {}}}, true)));
}

}  // namespace mapping_test
