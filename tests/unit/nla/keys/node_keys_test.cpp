// Tests which nodes have which node's key.
#include "nla/keys/node_keys.h"

#include <catch2/catch.hpp>
#include <set>

namespace node_keys_test {

using namespace scela;
using namespace scela::nla;

namespace {

NodeKeys all(char seed = 'k') {
  return NodeKeys::all(std::string(kNodeKeyBytes, seed));
}

}  // namespace

TEST_CASE("every node has a key of its own, and every job others") {
  std::set<std::string> seen;
  for (const char seed : {'k', 'l'}) {
    for (std::uint32_t node = 0; node < 300; ++node) {
      const std::string key = all(seed).of(node);
      CHECK(key.size() == kNodeKeyBytes);
      CHECK(seen.insert(key).second);
    }
    CHECK(seen.insert(all(seed).of(UINT32_MAX)).second);
  }
}

TEST_CASE("the holder of a slice has the keys of its nodes and of no others") {
  const NodeKeys root = all();
  for (std::uint32_t first = 0; first < 20; ++first) {
    for (std::uint32_t end = first + 1; end < 40; ++end) {
      const NodeKeys own = root.of({first, end});
      for (std::uint32_t node = 0; node < 45; ++node) {
        INFO(first << " to " << end << ", " << node);
        REQUIRE(own.of(node) == (node >= first && node < end ? root.of(node) : ""));
      }
      CHECK(own.of(UINT32_MAX).empty());
      // The keys that it holds open no more nodes: no part of another slice can be derived from
      // them.
      CHECK(own.of({0, 45}).encode() == own.encode());
      CHECK(own.of({end, 100}).empty());
    }
  }
}

TEST_CASE("the keys that an agent hands on are those that scela-run would") {
  const NodeKeys root = all();
  const NodeKeys first = root.of({3, 1000}), second = first.of({17, 400}),
                 third = second.of({17, 18});
  CHECK(second.encode() == root.of({17, 400}).encode());
  CHECK(third.of(17) == root.of(17));
  CHECK(third.of(18).empty());
}

TEST_CASE("keys travel as they are, few of them whatever the slice") {
  const NodeKeys root = all();
  for (const Slice slice :
       {Slice{0, 1}, Slice{0, UINT32_MAX}, Slice{1, UINT32_MAX - 1}, Slice{5, 5}}) {
    const NodeKeys own = root.of(slice);
    const std::string bytes = own.encode();
    CHECK(bytes.size() <= 1 + 62 * (5 + kNodeKeyBytes));
    const auto back = NodeKeys::decode(bytes);
    REQUIRE(back);
    CHECK(back->encode() == bytes);
    CHECK(back->of(slice.first) == own.of(slice.first));
  }
  CHECK(NodeKeys().empty());
  CHECK(NodeKeys().of(0).empty());
  CHECK(NodeKeys().of({0, 9}).empty());
}

TEST_CASE("malformed keys are refused") {
  const std::string one = all().of({2, 4}).encode();
  REQUIRE(NodeKeys::decode(one));
  CHECK_FALSE(NodeKeys::decode(""));
  CHECK_FALSE(NodeKeys::decode(one + "x"));
  CHECK_FALSE(NodeKeys::decode(std::string_view(one).substr(0, one.size() - 1)));
  std::string changed = one;
  changed[1] = 33;  // beyond the last level
  CHECK_FALSE(NodeKeys::decode(changed));
  changed = one;
  changed[2] = 3;  // no subtree of that level begins there
  CHECK_FALSE(NodeKeys::decode(changed));
  changed = one + one.substr(1);
  changed[0] = 2;  // the same nodes twice
  CHECK_FALSE(NodeKeys::decode(changed));
  changed = std::string(1, 63);
  for (std::uint32_t i = 0; i < 63; ++i)
    changed += all().of({4 * i, 4 * i + 1}).encode().substr(1);
  CHECK_FALSE(NodeKeys::decode(changed));
}

}  // namespace node_keys_test
