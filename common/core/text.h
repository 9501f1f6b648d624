// cat(): builds a string from strings, characters and numbers without streams or locales.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace scela {

namespace detail {
// These append one part of cat() to `out`.
inline void append(std::string& out, std::string_view text) {
  out += text;
}
inline void append(std::string& out, const char* text) {
  out += text;
}
inline void append(std::string& out, const std::string& text) {
  out += text;
}
inline void append(std::string& out, char c) {
  out += c;
}
template <class Number>
requires(std::is_arithmetic_v<Number> && !std::same_as<Number, char>) void append(std::string& out,
                                                                                  Number number) {
  if constexpr (std::same_as<Number, bool>) {
    out += number ? "true" : "false";
  } else {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, end);
  }
}
}  // namespace detail

// Returns the texts of all parts, one after the other: cat("rank ", 3, ": ", text). Parts are
// strings, characters, numbers, and bools as "true" and "false".
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

}  // namespace scela
