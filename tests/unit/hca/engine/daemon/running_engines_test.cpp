// Tests how the engines of this node are found.
#include "hca/engine/daemon/running_engines.h"

#include <catch2/catch.hpp>

namespace running_engines_test {

using namespace scela::hca;

TEST_CASE("sockets that listen for packets are told from the table of all") {
  const auto found = listening_sockets(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 4711 /tmp/a b/socket\n"
      "0000000000000000: 00000003 00000000 00000000 0005 03 4712 /tmp/connected\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4713 /tmp/stream\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 4714 @abstract\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 4715\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 4716 /tmp/x/scela-hca.agent\n"
      "nonsense\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].inode == 4711);
  CHECK(found[0].path == "/tmp/a b/socket");
  CHECK(found[1].inode == 4716);
  CHECK(found[1].path == "/tmp/x/scela-hca.agent");
  CHECK(listening_sockets("").empty());
}

}  // namespace running_engines_test
