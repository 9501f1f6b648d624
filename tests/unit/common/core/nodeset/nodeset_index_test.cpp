#include "common/core/nodeset/nodeset_index.h"

#include <catch2/catch.hpp>

namespace nodeset_index_test {

using namespace scela;
using namespace scela::nodeset;

namespace {

IndexKey key(std::string_view digits) {
  return key_of({value_of(digits), digits.size()});
}

std::string text_of(IndexKey value) {
  std::string out;
  append_digits(out, value);
  return out;
}

std::string ranges(const std::vector<std::string>& numbers) {
  std::vector<IndexKey> keys;
  for (const std::string& number : numbers)
    keys.push_back(key(number));
  std::string out;
  append_ranges(out, keys);
  return out;
}

}  // namespace

TEST_CASE("a key gives back its digits, leading zeros included, up to 18 of them") {
  for (const char* digits : {"0", "9", "00", "07", "10", "99", "000", "999999999999999999",
                             "000000000000000000", "100000000000000000"}) {
    CHECK(text_of(key(digits)) == digits);
  }
}

TEST_CASE("keys sort shorter numbers first, then by value") {
  const std::vector<std::string> order = {"0", "7", "9", "00", "07", "10", "99", "007", "100"};
  for (std::size_t i = 1; i < order.size(); ++i) {
    CAPTURE(order[i]);
    CHECK(key(order[i - 1]) < key(order[i]));
  }
}

TEST_CASE("a name splits into its pattern and the runs of digits in it") {
  std::string pattern;
  std::vector<IndexKey> keys;
  split_name("rack12n007-ib", pattern, keys);
  CHECK(pattern == "rack\x01n\x01-ib");
  REQUIRE(keys.size() == 2);
  CHECK(text_of(keys[0]) == "12");
  CHECK(text_of(keys[1]) == "007");
  std::string name;
  append_name(name, pattern, keys.data());
  CHECK(name == "rack12n007-ib");
}

TEST_CASE("a run of 19 digits is no index and stays in the pattern") {
  std::string pattern;
  std::vector<IndexKey> keys;
  split_name("n1234567890123456789x1", pattern, keys);
  CHECK(pattern == "n1234567890123456789x\x01");
  CHECK(keys.size() == 1);
}

TEST_CASE("a range grows a digit only when it began without leading zeros") {
  CHECK(ranges({"8", "9", "10", "11"}) == "8-11");
  CHECK(ranges({"08", "09", "10"}) == "08-10");
  CHECK(ranges({"98", "99", "100"}) == "98-100");
  CHECK(ranges({"01", "99", "100"}) == "01,99-100");
  CHECK(ranges({"9", "09", "10"}) == "9,09-10");
  CHECK(ranges({"9", "010"}) == "9,010");
  CHECK(ranges({"0", "00", "000"}) == "0,00,000");
  std::vector<std::string> padded;
  for (int i = 1; i <= 99; ++i)
    padded.push_back((i < 10 ? "0" : "") + std::to_string(i));
  padded.push_back("100");
  CHECK(ranges(padded) == "01-99,100");
}

}  // namespace nodeset_index_test
