// Tests the text of JSON objects.
#include "launcher/core/report/json_object.h"

#include <catch2/catch.hpp>

namespace json_object_test {

using namespace scela;

TEST_CASE("a JSON string has no bytes that a reader would take for something else") {
  CHECK(json_string("") == R"("")");
  CHECK(json_string("a \"b\" \\ /") == R"("a \"b\" \\ /")");
  CHECK(json_string("1\n2\t3\r4") == R"("1\n2\t3\r4")");
  CHECK(json_string(std::string_view("\0\x1b\x7f", 3)) == R"("\u0000\u001b\u007f")");
  CHECK(json_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") ==
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

TEST_CASE("bytes that are no UTF-8 become the replacement character") {
  const std::string replaced = "\xef\xbf\xbd";
  CHECK(json_string("a\xff"
                    "b") == "\"a" + replaced + "b\"");
  CHECK(json_string("\xe2\x82") == "\"" + replaced + replaced + "\"");
  CHECK(json_string("\xed\xa0\x80") == "\"" + replaced + replaced + replaced + "\"");
}

TEST_CASE("members keep their order, and missing values are null") {
  JsonObject object;
  object.text("b", "x").number("a", -3).flag("c", true).json("d", "[1]");
  object.optional_text("e", std::nullopt).number("f", std::optional<int>()).seconds("g", {});
  object.optional_text("h", "y").number("i", std::optional(7)).seconds("j", 1'000'250);
  CHECK(
      object.str() ==
      R"({"b":"x","a":-3,"c":true,"d":[1],"e":null,"f":null,"g":null,"h":"y","i":7,"j":1.000250})");
  CHECK(JsonObject().str() == "{}");
}

TEST_CASE("seconds have all digits of their microseconds") {
  CHECK(json_seconds(0) == "0.000000");
  CHECK(json_seconds(1) == "0.000001");
  CHECK(json_seconds(61'500'000) == "61.500000");
}

}  // namespace json_object_test
