#include "common/core/nodeset/nodeset_index.h"

#include <array>

namespace scela::nodeset {

namespace {

constexpr std::array<std::uint64_t, kMaxIndexDigits + 1> kPowers = [] {
  std::array<std::uint64_t, kMaxIndexDigits + 1> powers{};
  powers[0] = 1;
  for (std::size_t i = 1; i < powers.size(); ++i)
    powers[i] = powers[i - 1] * 10;
  return powers;
}();

// The key of the first string of each width.
constexpr std::array<std::uint64_t, kMaxIndexDigits + 2> kFirstKeys = [] {
  std::array<std::uint64_t, kMaxIndexDigits + 2> keys{};
  for (std::size_t width = 1; width <= kMaxIndexDigits; ++width) {
    keys[width + 1] = keys[width] + kPowers[width];
  }
  return keys;
}();

// Returns true if a range that has reached `last` goes on with `next`. `padded` says how the range
// began. An unpadded range grows from 9 to 10; a padded one ends at 99.
bool continues(Index last, Index next, bool padded) {
  if (next.value != last.value + 1) return false;
  return next.width == last.width || (!padded && next.width == last.width + 1 && !next.padded());
}

}  // namespace

bool Index::padded() const {
  return width > 1 && value < kPowers[width - 1];
}

std::size_t digits_in(std::uint64_t value) {
  std::size_t digits = 1;
  while (digits <= kMaxIndexDigits && value >= kPowers[digits])
    ++digits;
  return digits;
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits)
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

IndexKey key_of(Index index) {
  return kFirstKeys[index.width] + index.value;
}

Index index_of(IndexKey key) {
  std::size_t width = 1;
  while (key >= kFirstKeys[width + 1])
    ++width;
  return {key - kFirstKeys[width], width};
}

void append_digits(std::string& out, IndexKey key) {
  const Index index = index_of(key);
  char digits[kMaxIndexDigits];
  std::uint64_t rest = index.value;
  for (std::size_t i = index.width; i-- > 0; rest /= 10) {
    digits[i] = static_cast<char>('0' + rest % 10);
  }
  out.append(digits, index.width);
}

void split_name(std::string_view text, std::string& pattern, std::vector<IndexKey>& keys) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (!is_digit(text[i])) {
      while (end < text.size() && !is_digit(text[end]))
        ++end;
      pattern.append(text, i, end - i);
    } else {
      while (end < text.size() && is_digit(text[end]))
        ++end;
      const std::string_view digits = text.substr(i, end - i);
      if (digits.size() > kMaxIndexDigits) {
        pattern += digits;
      } else {
        pattern += kIndexMark;
        keys.push_back(key_of({value_of(digits), digits.size()}));
      }
    }
    i = end;
  }
}

void append_name(std::string& out, std::string_view pattern, const IndexKey* row) {
  for (const char c : pattern) {
    if (c == kIndexMark) {
      append_digits(out, *row++);
    } else {
      out += c;
    }
  }
}

void append_ranges(std::string& out, const std::vector<IndexKey>& keys) {
  for (std::size_t i = 0; i < keys.size();) {
    if (i != 0) out += ',';
    Index last = index_of(keys[i]);
    const bool padded = last.padded();
    std::size_t end = i + 1;
    for (; end < keys.size(); ++end) {
      const Index next = index_of(keys[end]);
      if (!continues(last, next, padded)) break;
      last = next;
    }
    append_digits(out, keys[i]);
    if (end - i > 1) {
      out += '-';
      append_digits(out, keys[end - 1]);
    }
    i = end;
  }
}

}  // namespace scela::nodeset
