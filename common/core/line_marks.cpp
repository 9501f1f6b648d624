#include "common/core/line_marks.h"

#include <algorithm>

#include "common/core/percent_pattern.h"
#include "common/core/text.h"

namespace scela {

std::string padded_rank(Rank rank, Rank ranks) {
  const std::string largest = cat(ranks == 0 ? 0 : ranks - 1);
  std::string text = cat(rank);
  if (text.size() < largest.size()) text.insert(0, largest.size() - text.size(), '0');
  return text;
}

std::string label_fault(std::string_view pattern) {
  if (pattern.size() > kLongestLabel) return cat("it has more than ", kLongestLabel, " bytes");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(pattern, is_control)) return "it has a control character";
  return unknown_part(pattern, "hnrjs");
}

bool label_tells_apart(std::string_view pattern) {
  bool found = false;
  read_percent_pattern(
      pattern, [](std::string_view) {},
      [&](char letter) { found = found || letter == 'r' || letter == 'h' || letter == 'n'; });
  return found;
}

std::string stream_pattern_text(std::string_view pattern, const StreamParts& parts) {
  return expand_percent_pattern(pattern, {{'h', std::string(parts.host)},
                                          {'n', cat(parts.node)},
                                          {'r', padded_rank(parts.rank, parts.ranks)},
                                          {'j', std::string(parts.job)},
                                          {'s', std::string(parts.stream)}});
}

std::string clock_text(std::int64_t unix_ns, std::int32_t ahead_s) {
  constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;
  const std::int64_t ms =
      ((unix_ns / 1'000'000 + std::int64_t{ahead_s} * 1000) % kDayMs + kDayMs) % kDayMs;
  std::string text = "00:00:00.000";
  const auto put = [&](std::size_t at, std::size_t digits, std::int64_t value) {
    for (std::size_t i = digits; i > 0; --i, value /= 10)
      text[at + i - 1] = static_cast<char>('0' + value % 10);
  };
  put(0, 2, ms / 3'600'000);
  put(3, 2, ms / 60'000 % 60);
  put(6, 2, ms / 1000 % 60);
  put(9, 3, ms % 1000);
  return text;
}

void mark_lines(std::string_view bytes, std::string_view mark, bool& at_line_start,
                std::string& out) {
  while (!bytes.empty()) {
    if (at_line_start) out += mark;
    const auto newline = bytes.find('\n');
    at_line_start = newline != std::string_view::npos;
    const std::size_t length = at_line_start ? newline + 1 : bytes.size();
    out += bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
}

std::string with_returns(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

}  // namespace scela
