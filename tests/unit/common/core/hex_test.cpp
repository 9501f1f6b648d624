#include "common/core/hex.h"

#include <catch2/catch.hpp>

namespace hex_test {

using namespace scela;

TEST_CASE("bytes become two lower-case digits each") {
  CHECK(hex_digits(std::string("\x00\x0f\xa5\xff", 4)) == "000fa5ff");
  CHECK(hex_digits("").empty());
  const unsigned char bytes[] = {0x12, 0xef};
  CHECK(hex_digits(bytes, 2) == "12ef");
  std::string text = "key ";
  append_hex(text, "\x80");
  CHECK(text == "key 80");
  CHECK(is_hex("0123456789abcdef"));
  CHECK_FALSE(is_hex("0A"));
  CHECK_FALSE(is_hex("0x1"));
}

}  // namespace hex_test
