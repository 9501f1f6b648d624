#include "comm-channel/bootstrap/pmi_words.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"

namespace pmi_words_test {

using namespace scela;
using namespace scela::channel;

namespace {

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(random.below(256));
  return bytes;
}

}  // namespace

TEST_CASE("any bytes become a word of PMI and are read again") {
  Random random(7);
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string bytes = random_bytes(random, size);
    const std::string word = to_word(bytes);
    INFO(size);
    CHECK(word.find_first_not_of(
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
          std::string::npos);
    CHECK(from_word(word) == bytes);
    // A word without its first character is refused, or gives other bytes.
    if (!word.empty()) CHECK(from_word(word.substr(1)) != bytes);
  }
  CHECK(to_word("Man") == "TWFu");
  CHECK(to_word("\xff\xfe") == "__4");
}

TEST_CASE("a malformed word gives no bytes") {
  for (const char* word : {"A", "AB CD", "A=", "TWF", "AAAAA", "+/+/"}) {
    INFO(word);
    CHECK_FALSE(from_word(word));
  }
}

TEST_CASE("values are cut into pieces of the length that is allowed, and joined again") {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    const std::string bytes = random_bytes(random, random.below(12'000));
    const std::size_t most = kLeastPiece + random.below(1'100);
    const auto pieces = cut(bytes, most);
    REQUIRE_FALSE(pieces.empty());
    for (const std::string& piece : pieces)
      REQUIRE(piece.size() <= most);
    std::size_t asked = 0;
    const auto joined = join([&](std::size_t i) -> Result<std::string> {
      REQUIRE(i == asked++);
      return pieces.at(i);
    });
    REQUIRE(joined);
    REQUIRE(*joined == bytes);
    REQUIRE(asked == pieces.size());
  }
}

TEST_CASE("pieces that are missing or wrong are errors") {
  const auto joined = [](const std::vector<std::string>& pieces) {
    return join([&](std::size_t i) -> Result<std::string> {
      if (i < pieces.size()) return pieces[i];
      return fail(Error{ErrorKind::protocol, "get a piece", "", "there is none", ""});
    });
  };
  REQUIRE(joined({"1:TWFu"}));
  CHECK(joined({"2:TWFu"}).error().why == "there is none");
  for (const char* first : {"", "TWFu", ":TWFu", "0:TWFu", "-1:TWFu", "99999999:TWFu", "1:A"}) {
    INFO(first);
    REQUIRE_FALSE(joined({first}));
    CHECK(joined({first}).error().why == "the value is damaged");
  }
}

}  // namespace pmi_words_test
