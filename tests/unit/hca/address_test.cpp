#include "hca/core/address.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"

namespace scela::hca::test {

TEST_CASE("hca address: a GID says which node of which job it is, and where") {
  const NodeAddress address{0x01020304, {10, 1, 2, 3}, 0xABCD, 300, 1};
  const Gid gid = gid_of(address);
  const Gid expected{{0xFD, 0x5C, 0xE1, 0xA1, 1, 2, 3, 4, 10, 1, 2, 3, 0xAB, 0xCD, 2, 88}};
  CHECK(gid == expected);
  CHECK(address_of(gid) == address);
  CHECK_FALSE(address.by_number());
}

TEST_CASE("hca address: every node and port has a GID of its own, the second port's one further") {
  Random random(1);
  for (std::uint32_t node = 0; node < kMostNodes; ++node) {
    NodeAddress address;
    address.node = node;
    address.tag = static_cast<std::uint32_t>(random.next());
    Gid gid = gid_of(address);
    CHECK(address_of(gid) == address);
    REQUIRE(gid.bytes[15] < 0xFF);
    ++gid.bytes[15];
    address.port = 2;
    CHECK(address_of(gid) == address);
    CHECK(gid == gid_of(address));
    CHECK(node_of_lid(first_lid_of(node)) == node);
    CHECK(node_of_lid(static_cast<std::uint16_t>(first_lid_of(node) + 1)) == node);
  }
}

TEST_CASE("hca address: what is no address of this adapter leads nowhere") {
  CHECK_FALSE(address_of(Gid{}));
  Gid link_local{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2}};
  CHECK_FALSE(address_of(link_local));
  for (std::size_t byte = 0; byte < 4; ++byte) {
    Gid gid = gid_of({1, {127, 0, 0, 1}, 7, 3, 1});
    gid.bytes[byte] ^= 1;
    CHECK_FALSE(address_of(gid));
  }
  Gid beyond = gid_of({1, {127, 0, 0, 1}, 7, 3, 1});
  beyond.bytes[14] = 0xFF;
  CHECK_FALSE(address_of(beyond));
  CHECK_FALSE(node_of_lid(0));
  CHECK_FALSE(node_of_lid(0xC000));
  CHECK(NodeAddress{1, {}, 7, 3, 1}.by_number());
  CHECK(NodeAddress{1, {127, 0, 0, 1}, 0, 3, 1}.by_number());
}

}  // namespace scela::hca::test
