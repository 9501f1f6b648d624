#include "hca/engine/net/fabric_record.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <set>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/core/wire/port_address.h"

namespace scela::hca {

namespace {

constexpr std::size_t kMaxBytes = 4u << 20;
constexpr std::uint64_t kMaxNs = 10'000'000'000;
constexpr std::size_t kMaxName = 255;

Error wrong(std::string why) {
  return {ErrorKind::usage, "read what --fabric-fd says of the job", "", std::move(why), ""};
}

std::string_view next(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view found = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return found;
}

bool parse_number(std::string_view word, std::uint32_t& number) {
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  return !word.empty() && parsed.ec == std::errc{} && parsed.ptr == end;
}

// Parses both forms of an address without a port.
std::optional<Endpoint> parse_host(std::string_view word) {
  const bool bare_ipv6 = word.find(':') != word.npos && word.find('[') == word.npos;
  return Endpoint::parse(bare_ipv6 ? cat("[", word, "]:0") : cat(word, ":0"));
}

bool parse_peer(std::string_view value, FabricRecord& record) {
  std::uint32_t node = 0;
  if (!parse_number(next(value, ' '), node) || node >= kMaxNodes) return false;
  const auto endpoint = Endpoint::parse(value);
  if (!endpoint || endpoint->port == 0) return false;
  return record.directory.emplace(node, *endpoint).second;
}

bool parse_line(std::string_view name, std::string_view value, FabricRecord& record) {
  if (name == "job") {
    record.job = value;
    return !value.empty() && value.size() <= kMaxName && value.find(' ') == value.npos;
  }
  if (name == "node") return parse_number(value, record.node);
  if (name == "nodes") return parse_number(value, record.nodes);
  if (name == "key" || name == "node-key") {
    record.key_is_own = name == "node-key";
    return record.key.empty() && parse_key(value, record.key);
  }
  if (name == "listen" || name == "address") {
    const auto endpoint = name == "listen" ? Endpoint::parse(value) : parse_host(value);
    if (endpoint) (name == "listen" ? record.listen : record.reached) = *endpoint;
    return endpoint.has_value();
  }
  if (name == "asks") return record.asks = value.empty();
  if (name == "encrypt") {
    record.encrypt = value == "yes";
    return record.encrypt || value == "no";
  }
  return name == "peer" && parse_peer(value, record);
}

}  // namespace

bool parse_key(std::string_view hex, std::string& key) {
  if (hex.size() != 2 * kEngineKeyBytes) return false;
  key.assign(kEngineKeyBytes, '\0');
  for (std::size_t i = 0; i < kEngineKeyBytes; ++i) {
    std::uint8_t byte = 0;
    const char* const at = hex.data() + 2 * i;
    const auto parsed = std::from_chars(at, at + 2, byte, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != at + 2) return false;
    key[i] = static_cast<char>(byte);
  }
  return true;
}

Result<FabricRecord> parse_fabric_record(std::string_view text) {
  FabricRecord record;
  std::set<std::string_view> seen;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = next(text, '\n');
    if (line.empty()) continue;
    if (record.asks) return fail(wrong(cat("line ", number, " comes after 'asks'")));
    const std::string_view name = next(line, ' ');
    if (name != "peer" && !seen.insert(name).second) {
      return fail(wrong(cat("line ", number, " says '", name.substr(0, 16), "' again")));
    }
    if (!parse_line(name, line, record)) {
      return fail(wrong(cat("line ", number, " is not understood")));
    }
  }
  if (!seen.contains("key") && !seen.contains("node-key"))
    return fail(wrong("there is no line 'key' or 'node-key'"));
  if (record.key_is_own && !record.asks)
    return fail(wrong("with 'node-key' there must be a line 'asks': no other key is known here"));
  for (const char* const name : {"job", "node", "listen"}) {
    if (!seen.contains(name)) return fail(wrong(cat("there is no line '", name, "'")));
  }
  if (record.nodes > kMaxNodes || record.node >= record.nodes) {
    return fail(wrong(cat("node ", record.node, " of ", record.nodes,
                          " cannot be: numbers begin at 0, and ", kMaxNodes, " have LIDs")));
  }
  if (!record.directory.empty() && record.directory.rbegin()->first >= record.nodes) {
    return fail(wrong(cat("peer ", record.directory.rbegin()->first, " is no node of the job")));
  }
  if (!seen.contains("address")) record.reached = record.listen;
  return record;
}

Result<FabricRecord> read_fabric_record(int descriptor) {
  std::string text;
  const std::uint64_t until = monotonic_ns() + kMaxNs;
  std::string error;
  while (error.empty()) {
    pollfd waits{descriptor, POLLIN, 0};
    const std::uint64_t now = monotonic_ns();
    const int left = now < until ? static_cast<int>((until - now) / 1'000'000) : 0;
    if (::poll(&waits, 1, left) == 0) {
      error = "its end does not come";
      break;
    }
    char part[4096];
    const ssize_t got = retry([&] { return ::read(descriptor, part, sizeof part); });
    if (got == 0) break;
    if (got < 0) {
      error = errno_text(errno);
      break;
    }
    // A string that grows leaves copies behind, so the old bytes are wiped.
    if (text.capacity() < text.size() + sizeof part) {
      std::string larger;
      larger.reserve(2 * text.capacity() + sizeof part);
      larger = text;
      ::OPENSSL_cleanse(text.data(), text.size());
      text = std::move(larger);
    }
    text.append(part, static_cast<std::size_t>(got));
    ::OPENSSL_cleanse(part, sizeof part);
    if (text.size() > kMaxBytes) error = "it is too long";
    if (text.ends_with("\nasks\n")) break;
  }
  auto record =
      error.empty() ? parse_fabric_record(text) : Result<FabricRecord>(fail(wrong(error)));
  ::OPENSSL_cleanse(text.data(), text.size());
  return record;
}

}  // namespace scela::hca
