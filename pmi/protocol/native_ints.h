// Reads and writes native-endian 4-byte integers in a byte stream, as both dialects of PMGR send
// them. Native order suffices because both ends run on one machine. Greetings and PMGR sessions use
// these functions.
//
// Pure functions, for any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace scela::pmi {

// The bytes of one integer.
inline constexpr std::size_t kInt = sizeof(std::int32_t);

// Returns the integer at position `index`, counted from 0. `bytes` must hold it.
inline std::int32_t int_at(std::string_view bytes, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + index * kInt, kInt);
  return value;
}

// Appends the kInt bytes of `value` to `out`.
inline void append_int(std::string& out, std::int32_t value) {
  char bytes[kInt];
  std::memcpy(bytes, &value, kInt);
  out.append(bytes, kInt);
}

}  // namespace scela::pmi
