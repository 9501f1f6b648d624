#include "launcher/core/ssh/ssh_patterns.h"

namespace scela {

bool matches_pattern(std::string_view text, std::string_view pattern) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = kNone;        // the last star, which may cover more
  std::size_t star_covers_to = 0;  // position in the text
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_covers_to = at;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
      ++in_pattern;
      ++at;
    } else if (star != kNone) {
      in_pattern = star + 1;
      at = ++star_covers_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == kNone;
}

bool matches_patterns(std::string_view text, std::span<const std::string> patterns) {
  bool found = false;
  for (const std::string_view pattern : patterns) {
    if (pattern.starts_with('!')) {
      if (matches_pattern(text, pattern.substr(1))) return false;
    } else if (!found) {
      found = matches_pattern(text, pattern);
    }
  }
  return found;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace scela
