// Parsers of single option values. Errors have kind usage and carry `why` and `hint` only: the
// caller knows which option and source the text came from. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options.h"

namespace scela {

Error value_error(std::string why, std::string hint = "");

// A decimal number in [least, most]; signs, spaces and trailing letters are refused.
Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least, std::uint32_t most);
// "90", "1.5", "250ms", "90s", "2m", "1h": seconds unless a unit follows. At most kMaxDuration.
inline constexpr std::chrono::hours kMaxDuration{24 * 365};
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
// Of --host-timeout: the agents count milliseconds in 32 bits.
inline constexpr std::chrono::hours kMaxHostTimeout{24 * 40};
Result<std::chrono::milliseconds> parse_grace(std::string_view text);  // at most a day
Result<bool> parse_flag(std::string_view text);                 // yes no true false on off 1 0
Result<EnvVariable> parse_env_variable(std::string_view text);  // NAME=VALUE
Result<EnvPass> parse_env_pass(std::string_view text);          // all, none, NAME,NAME
// "4096", "64K", "8m", "2G" (1K is 1024): at least 1, less than 2^42.
Result<std::uint64_t> parse_bytes(std::string_view text);
Result<StdinTarget> parse_stdin(std::string_view text);  // all, none, RANK
Result<std::string> parse_text(std::string_view text);   // anything but nothing

std::vector<std::string> split_list(std::string_view text, char separator);  // empty parts dropped
std::string_view trim(std::string_view text);

}  // namespace scela
