#include "hca/core/model/multicast_groups.h"

#include <catch2/catch.hpp>

#include "hca/core/wire/values.h"

namespace multicast_groups_test {

using namespace scela::hca;

namespace {

Gid group(std::uint32_t number) {
  Gid gid;
  gid.bytes[0] = 0xFF;
  gid.bytes[14] = static_cast<std::uint8_t>(number >> 8);
  gid.bytes[15] = static_cast<std::uint8_t>(number);
  return gid;
}

}  // namespace

TEST_CASE("hca groups: a queue pair is a member until it leaves, however often it joined") {
  MulticastGroups groups;
  CHECK(groups.members(group(1)).empty());
  CHECK(groups.join(group(1), 7));
  CHECK(groups.join(group(1), 7));
  CHECK(groups.join(group(1), 8));
  CHECK(groups.members(group(1)) == std::set<std::uint32_t>{7, 8});
  CHECK(groups.members(group(2)).empty());
  CHECK(groups.leave(group(1), 7));
  CHECK_FALSE(groups.leave(group(1), 7));
  CHECK_FALSE(groups.leave(group(2), 8));
  CHECK(groups.members(group(1)) == std::set<std::uint32_t>{8});
}

TEST_CASE("hca groups: a queue pair that is destroyed leaves all of its groups") {
  MulticastGroups groups;
  CHECK(groups.join(group(1), 7));
  CHECK(groups.join(group(2), 7));
  CHECK(groups.join(group(2), 8));
  groups.leave_all(7);
  CHECK(groups.members(group(1)).empty());
  CHECK(groups.members(group(2)) == std::set<std::uint32_t>{8});
}

TEST_CASE("hca groups: if there are too many groups, those that exist can still be joined") {
  MulticastGroups groups;
  for (std::uint32_t number = 0; number < limit::kMcastGroups; ++number)
    REQUIRE(groups.join(group(number), 7));
  CHECK_FALSE(groups.join(group(limit::kMcastGroups), 7));
  CHECK(groups.join(group(0), 8));
  CHECK(groups.leave(group(1), 7));
  CHECK(groups.join(group(limit::kMcastGroups), 7));
}

}  // namespace multicast_groups_test
