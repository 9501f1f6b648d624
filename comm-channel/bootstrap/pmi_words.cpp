#include "comm-channel/bootstrap/pmi_words.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/core/text.h"

namespace scela::channel {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// The most pieces of one value. The bound of values is Bootstrap::kMaxValue, which is far below.
constexpr std::size_t kMaxPieces = 100'000;

constexpr std::array<signed char, 256> values() {
  std::array<signed char, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<signed char>(i);
  return table;
}
constexpr auto kValues = values();

}  // namespace

std::string to_word(std::string_view bytes) {
  std::string word;
  word.reserve((bytes.size() * 4 + 2) / 3);
  unsigned held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = held << 8 | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= 6;) {
      bits -= 6;
      word += kAlphabet[held >> bits & 63];
    }
  }
  if (bits > 0) word += kAlphabet[held << (6 - bits) & 63];
  return word;
}

std::optional<std::string> from_word(std::string_view word) {
  std::string bytes;
  bytes.reserve(word.size() * 3 / 4);
  unsigned held = 0;
  int bits = 0;
  for (const char c : word) {
    const int value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    held = held << 6 | static_cast<unsigned>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(held >> bits & 255);
    }
  }
  // The bits left over are less than a character, and zero; otherwise the text was cut.
  if (bits >= 6 || (held & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

std::vector<std::string> cut(std::string_view bytes, std::size_t most) {
  const std::string word = to_word(bytes);
  // Room for the count is left in every piece, so that the count is known before the cut.
  const std::size_t room = std::max(most, kLeastPiece) - 8;
  const std::size_t count = std::max<std::size_t>((word.size() + room - 1) / room, 1);
  std::vector<std::string> pieces;
  pieces.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    pieces.push_back(word.substr(i * room, room));
  pieces.front().insert(0, cat(count, ":"));
  return pieces;
}

std::optional<std::size_t> count_of(std::string& first) {
  std::size_t count = 0;
  const char* const last = first.data() + first.size();
  const auto [end, error] = std::from_chars(first.data(), last, count);
  if (error != std::errc() || end == last || *end != ':' || count < 1 || count > kMaxPieces) {
    return std::nullopt;
  }
  first.erase(0, static_cast<std::size_t>(end - first.data()) + 1);
  return count;
}

}  // namespace scela::channel
