// Patterns of host and user names as ssh's files write them (ssh_config(5), PATTERNS).
//
//   *  any run of characters     ?  any one character     !PATTERN  names that are left out
//
// Values only; no back-tracking that grows with the number of stars.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace scela {

bool matches_pattern(std::string_view text, std::string_view pattern);
// One of the patterns matches and none of the negated ones does.
bool matches_patterns(std::string_view text, std::span<const std::string> patterns);

std::string to_lower(std::string_view text);  // ASCII, as names of hosts are compared

}  // namespace scela
