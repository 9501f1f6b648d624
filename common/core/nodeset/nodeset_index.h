// The numbers within node names, as keys that keep their leading zeros. Private to nodeset*.cpp.
//
// A key counts all strings of digits by length, then by value: "0".."9" are 0..9, "00".."99" are
// 10..109, and so on. So keys compare as ClusterShell orders numbers, and "7" and "07" differ. A
// run of more than kMaxIndexDigits digits is no index: it stays in the pattern, as letters do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset/nodeset.h"

namespace scela::nodeset {

// The most digits of an index. Longer runs of digits stay in the pattern.
inline constexpr std::size_t kMaxIndexDigits = 18;
// The byte that stands for an index in a pattern. Names cannot contain it, because control
// characters are refused.
inline constexpr char kIndexMark = '\x01';

// A number within a name.
struct Index {
  std::uint64_t value;
  // The number of digits, leading zeros included; 1..kMaxIndexDigits.
  std::size_t width;

  // Returns true if the digits have leading zeros.
  bool padded() const;
};

// Returns true for the digits 0 to 9.
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Returns the number of decimal digits of the value; 1 for 0.
std::size_t digits_in(std::uint64_t value);

// Returns the value of a text of 1..kMaxIndexDigits digits, which the caller has checked.
std::uint64_t value_of(std::string_view digits);
// These two translate between both forms of an index.
IndexKey key_of(Index index);
Index index_of(IndexKey key);
// Appends the number of a key with its leading zeros.
void append_digits(std::string& out, IndexKey key);

// Splits a name into its pattern, with kIndexMark for each number, and its numbers. Appends these
// to `pattern` and `keys`.
void split_name(std::string_view text, std::string& pattern, std::vector<IndexKey>& keys);
// Appends the name that a pattern and a row of its group make. `row` has a key for each index mark.
void append_name(std::string& out, std::string_view pattern, const IndexKey* row);

// Appends ranges such as "1-3,7" for ascending keys without repetition.
void append_ranges(std::string& out, const std::vector<IndexKey>& keys);

}  // namespace scela::nodeset
