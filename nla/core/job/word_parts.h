// Replaces the parts %h, %n, %r, %j, %u and %% in the words of a rank's program (--expand), as pdsh
// does with %h, %n and %u. The start of ranks uses it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela::nla {

// The values of the parts for one rank.
struct WordParts {
  std::string_view host;   // %h: the node's name
  std::uint32_t node = 0;  // %n: its number in the host list, from 0
  std::uint64_t rank = 0;  // %r
  std::string_view job;    // %j: the job's identifier
  std::string_view user;   // %u: the login on the node; may be empty
};

// Returns the word with its parts replaced; %% becomes a percent sign. Any other "%" stays as it
// is, as in "date +%Y".
std::string expand_word(std::string_view word, const WordParts& parts);

}  // namespace scela::nla
