#include "nla/dial/dial_hello.h"

#include <sys/random.h>

#include <array>
#include <charconv>

#include "common/core/text.h"
#include "common/crypto/hmac.h"

namespace scela::nla {

namespace {

constexpr std::string_view kWord = "scela-dial";

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string proof_of(std::string_view words, std::string_view secret) {
  std::string key = hkdf_sha256(secret, "scela dial, hello");
  std::string proof = hexadecimal(hmac_sha256(key, words));
  wipe(key);
  return proof;
}

std::string words_of(const DialHello& hello) {
  return cat(kWord, " ", hello.build, " ", hello.name, " ", hello.address, " ", hello.port);
}

}  // namespace

std::string new_dial_secret() {
  std::array<char, kDialSecretDigits / 2> bytes{};
  for (std::size_t have = 0; have < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return hexadecimal({bytes.data(), bytes.size()});
}

std::string format(const DialHello& hello, std::string_view secret) {
  const std::string words = words_of(hello);
  return cat(words, " ", proof_of(words, secret), "\n");
}

Result<DialHello> parse_dial_hello(std::string_view line, std::string_view secret) {
  const auto failed = [](std::string why) {
    return fail(Error{ErrorKind::protocol, "read the hello of an agent", {}, std::move(why), {}});
  };
  const std::size_t end = line.rfind(' ');
  if (end == std::string_view::npos || line.size() >= kMaxDialHello)
    return failed("it is malformed");
  const std::string_view proof = line.substr(end + 1);
  std::string_view words = line.substr(0, end);
  if (!is_equal_secret(proof_of(words, secret), proof))
    return failed("its proof is of another secret");
  std::array<std::string_view, 5> parts;
  for (std::string_view& part : parts) {
    const std::size_t blank = std::min(words.find(' '), words.size());
    part = words.substr(0, blank);
    words.remove_prefix(std::min(blank + 1, words.size()));
    if (part.empty()) return failed("it is malformed");
  }
  DialHello out{std::string(parts[1]), std::string(parts[2]), std::string(parts[3]), 0};
  const char* const last = parts[4].data() + parts[4].size();
  const auto [at, error] = std::from_chars(parts[4].data(), last, out.port);
  if (parts[0] != kWord || !words.empty() || error != std::errc() || at != last || out.port == 0)
    return failed("it is malformed");
  return out;
}

SharedKey dial_link_key(std::string_view secret, std::string_view name) {
  return {cat("scela dial ", name), hkdf_sha256(secret, cat("scela dial, link of ", name))};
}

}  // namespace scela::nla
