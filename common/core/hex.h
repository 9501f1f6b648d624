// Bytes as hexadecimal text: keys, digests, identifiers of jobs and builds. Most rooms use it.
// Pure; any thread may call the functions.
#pragma once

#include <string>
#include <string_view>

namespace scela {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// Appends two lower-case digits for each byte. A caller that reserves the room first leaves no
// copies of a key in memory.
inline void append_hex(std::string& text, std::string_view bytes) {
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
}

// Returns two lower-case digits for each byte.
inline std::string hex_digits(std::string_view bytes) {
  std::string text;
  append_hex(text, bytes);
  return text;
}

// Returns the digits of bytes that a library keeps as numbers.
inline std::string hex_digits(const unsigned char* bytes, std::size_t size) {
  return hex_digits({reinterpret_cast<const char*>(bytes), size});
}

// Returns true if the text has lower-case digits only, or is empty.
inline bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace scela
