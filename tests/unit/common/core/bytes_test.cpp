#include "common/core/bytes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "common/core/random.h"

namespace bytes_test {

using namespace scela;

namespace {

RankSet some_ranks(Random& random) {
  RankSet set;
  Rank at = 0;
  for (std::uint64_t i = random.below(6); i > 0; --i) {
    at += static_cast<Rank>(random.between(2, 70000));
    const Rank count = static_cast<Rank>(random.between(1, 300));
    set.add(RankSet::run(at, count));
    at += count;
  }
  return set;
}

}  // namespace

TEST_CASE("integers are little-endian whatever the machine") {
  ByteWriter out;
  out.u8(0x01);
  out.u16(0x0203);
  out.u32(0x04050607);
  out.u64(0x08090a0b0c0d0e0fu);
  CHECK(out.bytes() ==
        std::string("\x01\x03\x02\x07\x06\x05\x04\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08", 15));
  ByteReader in(out.bytes());
  CHECK(in.u8() == 0x01);
  CHECK(in.u16() == 0x0203);
  CHECK(in.u32() == 0x04050607);
  CHECK(in.u64() == 0x08090a0b0c0d0e0fu);
  CHECK(in.done());
}

TEST_CASE("varints of every length come back") {
  for (int bits = 0; bits <= 64; ++bits) {
    const std::uint64_t power = bits == 64 ? 0 : std::uint64_t{1} << bits;
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      ByteWriter out;
      out.varint(value);
      CHECK(out.size() <= 10);
      ByteReader in(out.bytes());
      CHECK(in.varint() == value);
      CHECK(in.done());
      ByteReader narrow(out.bytes());
      const bool fits = value <= std::numeric_limits<std::uint32_t>::max();
      CHECK(narrow.varint32() == (fits ? value : 0));
      CHECK(narrow.ok() == fits);
    }
  }
}

TEST_CASE("a varint that does not fit 64 bits or never ends is refused") {
  const std::string nine(9, '\xff');
  for (const std::string& bytes : {nine + '\x02', nine + '\xff', std::string(20, '\x80'), nine}) {
    ByteReader in(bytes);
    CHECK(in.varint() == 0);
    CHECK_FALSE(in.ok());
  }
  ByteReader most(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
  CHECK(most.varint() == std::numeric_limits<std::uint64_t>::max());
  CHECK(most.done());
}

TEST_CASE("every truncation of a mixed sequence of fields fails cleanly") {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    const RankSet ranks = some_ranks(random);
    const std::string text(random.below(200), 'x');
    const std::uint64_t number = random.next() >> random.below(64);
    ByteWriter out;
    out.u8(200);
    out.flag(true);
    out.ranks(ranks);
    out.varint(number);
    out.text(text);
    out.u16(9);
    out.u64(number);
    out.raw("raw");
    const auto read = [&](std::string_view bytes) {
      ByteReader in(bytes);
      // A list evaluates all reads, in this order, whatever the first ones return.
      const bool equal[] = {in.u8() == 200,        in.flag(),          in.ranks() == ranks,
                            in.varint() == number, in.text() == text,  in.u16() == 9,
                            in.u64() == number,    in.raw(3) == "raw", in.done()};
      return std::all_of(std::begin(equal), std::end(equal), [](bool one) { return one; });
    };
    REQUIRE(read(out.bytes()));
    for (std::size_t length = 0; length < out.size(); ++length) {
      // The bytes are in a separate copy, so that the address sanitizer sees a read past the end.
      const std::vector<char> part(out.bytes().begin(),
                                   out.bytes().begin() + static_cast<std::ptrdiff_t>(length));
      REQUIRE_FALSE(read({part.data(), part.size()}));
    }
  }
}

TEST_CASE("after the first fault everything reads as zero and stays faulty") {
  ByteReader in(std::string_view("\x05zz\x01\x02\x03", 6));
  CHECK(in.text().size() == 5);
  CHECK(in.u16() == 0);
  CHECK_FALSE(in.ok());
  CHECK(in.u8() == 0);
  CHECK(in.varint() == 0);
  CHECK(in.text().empty());
  CHECK(in.ranks().empty());
  CHECK(in.raw(0).empty());
  CHECK_FALSE(in.ok());
  CHECK_FALSE(in.done());
}

TEST_CASE("bytes left over are not done") {
  ByteReader in("ab");
  in.u8();
  CHECK(in.ok());
  CHECK_FALSE(in.done());
  CHECK(in.rest() == "b");
}

TEST_CASE("raw bytes are given whole or not at all") {
  ByteReader in("ab");
  CHECK(in.raw(3).empty());
  CHECK_FALSE(in.ok());
  ByteReader exact("ab");
  CHECK(exact.raw(2) == "ab");
  CHECK(exact.done());
}

TEST_CASE("a length that lies about the bytes behind it is refused") {
  ByteWriter out;
  out.varint(std::numeric_limits<std::uint64_t>::max());
  out.raw("abc");
  ByteReader text(out.bytes());
  CHECK(text.text().empty());
  CHECK_FALSE(text.ok());
  ByteReader ranks(out.bytes());
  CHECK(ranks.ranks().empty());
  CHECK_FALSE(ranks.ok());
  ByteReader raw(out.bytes());
  CHECK(raw.raw(std::numeric_limits<std::size_t>::max()).empty());
  CHECK_FALSE(raw.ok());
}

TEST_CASE("rank sets that are out of order, overlapping or beyond the last rank are refused") {
  const auto reads = [](const std::vector<std::uint64_t>& numbers) {
    ByteWriter out;
    for (const std::uint64_t number : numbers)
      out.varint(number);
    ByteReader in(out.bytes());
    in.ranks();
    return in.done();
  };
  CHECK(reads({2, 5, 1, 3, 0}));             // 5-6, 9
  CHECK_FALSE(reads({2, 5, 1, 0, 0}));       // the second begins at the first's end
  CHECK(reads({1, 0xfffffffeu, 0}));         // the last possible rank
  CHECK_FALSE(reads({1, 0xffffffffu, 0}));   // one past the last possible rank
  CHECK_FALSE(reads({1, 0xffffffffu, 1}));   // ends at 2^32
  CHECK_FALSE(reads({1, 1, 0xffffffffu}));   // ends at 2^32
  CHECK_FALSE(reads({1, 0x100000000u, 0}));  // it begins at 2^32
  CHECK_FALSE(reads({3, 0, 0, 2, 0}));       // one range is missing
}

}  // namespace bytes_test
