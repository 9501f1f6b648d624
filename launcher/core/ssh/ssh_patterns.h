// Matches patterns of host and user names in ssh's files (ssh_config(5), PATTERNS). The ssh_* files
// and known_hosts.cpp use it.
//
//   *  any run of characters     ?  any one character     !PATTERN  names to exclude
//
// All functions are pure. Backtracking does not grow with the number of stars.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace scela {

// Returns true if the pattern, which has no "!", matches all of the text. Letters are compared
// exactly.
bool matches_pattern(std::string_view text, std::string_view pattern);
// Returns true if one of the patterns matches and no negated one ("!PATTERN") does.
bool matches_patterns(std::string_view text, std::span<const std::string> patterns);

std::string to_lower(std::string_view text);  // ASCII only; for names of hosts

}  // namespace scela
