// cat(): builds a string from strings, characters and numbers without streams or locales.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace scela {

namespace detail {
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

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

}  // namespace scela
