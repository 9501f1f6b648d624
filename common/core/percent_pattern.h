// Reads texts with parts such as %h and %r, which stand for values: names of output files
// (launcher/core/report/file_names.h) and words of programs (nla/core/job/word_parts.h). Pure.
#pragma once

#include <string_view>

namespace scela {

// Calls literal(text) and part(letter) for the pieces of the pattern, in order. A '%' at the end
// has the letter 0.
template <class Literal, class Part>
void read_percent_pattern(std::string_view pattern, const Literal& literal, const Part& part) {
  while (!pattern.empty()) {
    const auto percent = pattern.find('%');
    literal(pattern.substr(0, percent));
    if (percent == std::string_view::npos) return;
    pattern.remove_prefix(percent + 1);
    part(pattern.empty() ? '\0' : pattern.front());
    pattern.remove_prefix(pattern.empty() ? 0 : 1);
  }
}

}  // namespace scela
