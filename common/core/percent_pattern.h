// Reads texts with parts such as %h and %r, which stand for values: names of output files
// (launcher/core/report/file_names.h), labels of lines (common/core/line_marks.h) and words of
// programs (nla/core/job/word_parts.h). Pure.
#pragma once

#include <initializer_list>
#include <string>
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

// Returns what is wrong with the first part of the pattern that has a letter outside of `letters`;
// '%' is always known.
// The text is empty if every part is known.
inline std::string unknown_part(std::string_view pattern, std::string_view letters) {
  std::string why;
  const auto check = [&](char letter) {
    if (!why.empty() || letter == '%') return;
    if (letter == '\0') {
      why = "a '%' stands at its end";
    } else if (letters.find(letter) == std::string_view::npos) {
      why = std::string("'%") + letter + "' means nothing";
    }
  };
  read_percent_pattern(
      pattern, [](std::string_view) {}, check);
  return why;
}

// The value of one letter.
struct PercentValue {
  char letter;
  std::string text;
};

// Returns the pattern with the letters of `values` replaced; %% becomes a percent sign. Any other
// '%' stays as it is.
inline std::string expand_percent_pattern(std::string_view pattern,
                                          std::initializer_list<PercentValue> values) {
  std::string out;
  const auto add_value = [&](char letter) {
    for (const PercentValue& value : values) {
      if (value.letter != letter) continue;
      out += value.text;
      return;
    }
    out += '%';
    if (letter != '%' && letter != '\0') out += letter;
  };
  read_percent_pattern(
      pattern, [&](std::string_view text) { out += text; }, add_value);
  return out;
}

}  // namespace scela
