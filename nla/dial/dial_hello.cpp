#include "nla/dial/dial_hello.h"

#include <array>
#include <charconv>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/random_bytes.h"

namespace scela::nla {

namespace {

constexpr std::string_view kWord = "scela-dial";

std::string proof_of(std::string_view words, std::string_view secret) {
  return keyed_proof(words, secret, "scela dial, hello");
}

std::string words_of(const DialHello& hello) {
  return cat(kWord, " ", hello.build, " ", hello.name, " ", hello.address, " ", hello.port);
}

}  // namespace

std::string new_dial_secret() {
  return hex_digits(random_bytes(kDialSecretDigits / 2));
}

std::string keyed_proof(std::string_view words, std::string_view secret, std::string_view purpose) {
  std::string key = hkdf_sha256(secret, purpose);
  std::string proof = hex_digits(hmac_sha256(key, words));
  wipe(key);
  return proof;
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
