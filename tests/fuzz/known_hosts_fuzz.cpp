// known_hosts files: any text gives keys that are well-formed, none of them accepted and revoked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/core/ssh/known_hosts.h"

namespace {

scela::Sha1Digest fake_hmac(std::string_view key, std::string_view text) {
  scela::Sha1Digest out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(key[i % key.size()] ^ (text.empty() ? 0 : text.front()));
  }
  return out;
}

void check(const scela::KnownKeys& keys) {
  for (const scela::KnownKey& key : keys.accepted) {
    if (!scela::is_key_of_type(key.type, key.blob)) std::abort();
    if (key.type.find_first_of(" ,:\n") != std::string::npos) std::abort();
    if (std::count(keys.accepted.begin(), keys.accepted.end(), key) != 1) std::abort();
    if (std::count(keys.revoked.begin(), keys.revoked.end(), key) != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  scela::KnownHosts hosts;
  hosts.add(text, "file");
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (hosts.lines() + hosts.broken() > lines) std::abort();
  if ((hosts.broken() == 0) != hosts.first_broken().empty()) std::abort();
  check(hosts.find("node1", "10.0.0.1", 22, fake_hmac));
  check(hosts.find("node1", "", 2222, fake_hmac));
  return 0;
}
