#include "common/os/random_bytes.h"

#include <catch2/catch.hpp>

namespace random_bytes_test {

using namespace scela;

TEST_CASE("random bytes have the wanted number and differ from call to call") {
  CHECK(random_bytes(0).empty());
  CHECK(random_bytes(1000).size() == 1000);  // more than 256 may come in parts
  CHECK(random_bytes(32) != random_bytes(32));
}

}  // namespace random_bytes_test
