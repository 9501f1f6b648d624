// Parsers of numbers, times, sizes and lists. The parsers of options, host files, rank files and
// ssh's configuration use them. Errors have kind usage and only `why` and `hint`, as the caller
// knows the source of the text. All functions are pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

// Returns an error of kind usage with these two texts.
Error value_error(std::string why, std::string hint = "");

// Parses a decimal number. Returns an error unless it is in [least, most]. Signs, spaces and
// trailing letters are refused.
Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least, std::uint32_t most);
// Parses a time of at most kMaxDuration such as "90", "1.5", "250ms", "90s", "2m" or "1h". The unit
// is seconds unless another one follows. Parts of a millisecond are dropped.
inline constexpr std::chrono::hours kMaxDuration{24 * 365};
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
Result<bool> parse_flag(std::string_view text);  // yes, no, true, false, on, off, 1, 0
// Parses a number of bytes such as "4096", "64K", "8m" or "2G" (1K is 1024). It must be at least 1
// and less than 2^42.
Result<std::uint64_t> parse_bytes(std::string_view text);
// Returns the text as it is. Returns an error if it is empty or blank.
Result<std::string> parse_text(std::string_view text);

// Returns the parts of the text between separators, trimmed. Empty parts are dropped.
std::vector<std::string> split_list(std::string_view text, char separator);
// Returns the text without blanks, tabs, carriage returns and newlines at both ends.
std::string_view trim(std::string_view text);

}  // namespace scela
