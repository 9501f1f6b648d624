// Native-endian 4-byte integers in a byte stream, as PMGR's two dialects send them: both ends are
// on one machine.
//
// Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace scela::pmi {

inline constexpr std::size_t kInt = sizeof(std::int32_t);

// The `index`-th integer; there must be one.
inline std::int32_t int_at(std::string_view bytes, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + index * kInt, kInt);
  return value;
}

inline void append_int(std::string& out, std::int32_t value) {
  char bytes[kInt];
  std::memcpy(bytes, &value, kInt);
  out.append(bytes, kInt);
}

}  // namespace scela::pmi
