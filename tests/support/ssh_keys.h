// Host keys for tests of known_hosts files: well-formed keys that are made up, and two real ones
// with the lines in which ssh-keygen -H hides their hosts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela::test {

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      out += is_padding ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

// Returns the base64 text of a key of that type. `body` tells keys apart.
inline std::string key_blob(std::string_view type, std::string_view body) {
  const auto length = static_cast<char>(type.size());
  return base64(std::string(3, '\0') + length + std::string(type) + std::string(body));
}

// The keys of "node7" and "[node8]:2222".
inline constexpr std::string_view kKey7 =
    "AAAAC3NzaC1lZDI1NTE5AAAAIPCQgLZO9RFMPVpLMjQ400PGTcFfh1JMeEcHA9YDG42t";
inline constexpr std::string_view kDigest7 =
    "ee198071f69f90025153aa7bc7eff6c8c5a7369ef596bdc433907374c8f8c693";
inline constexpr std::string_view kHidden7 =
    "|1|+IwEpNMyv8EJot76Mn0paHchznQ=|ORywoDUI3BYpkal53MbcG+RAULE=";
inline constexpr std::string_view kKey8 =
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBKhiA4w17QXILfjqXj+IooIo4OL5wRzgZyo28Dn2"
    "5M+OoqrmMjVSjNhOPg7ELhBNMxYOG3wPGeNLkab9DPqd6Q4=";
inline constexpr std::string_view kHidden8 =
    "|1|PqhZwyczMOzroD1ZxxlxyPBuLFI=|ni7KkgDrUc44X/dsP2iI0rHqCdU=";

}  // namespace scela::test
