#include "nla/core/wire/contact.h"

#include <algorithm>
#include <charconv>

#include "common/core/hex.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::size_t kDigestDigits = 64;  // SHA-256
constexpr std::string_view kRootOnly = "root";
constexpr std::string_view kWaits = "waits";

// Takes the text up to `separator`, or all of it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool parse_keys(std::string_view text, Contact& out) {
  if (text == "-") return true;
  while (!text.empty()) {
    std::string_view one = take(text, ',');
    if (one == "*") {
      out.any_key = true;
      continue;
    }
    const std::string_view type = take(one, ':');
    const bool digits = is_hex(one);
    if (type.empty() || one.size() != kDigestDigits || !digits) return false;
    out.keys.push_back({std::string(type), std::string(one)});
  }
  return true;
}

bool parse_fields(std::string_view line, Contact& out) {
  out.name = take(line, ' ');
  if (out.name.empty()) return false;
  if (line.empty()) return true;
  if (line == kRootOnly) return out.root_only = true;
  out.address = take(line, ' ');
  const std::string_view port = take(line, ' ');
  out.user = take(line, ' ');
  const std::string_view keys = take(line, ' ');
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size() || out.port == 0) return false;
  if (out.address.empty() || out.user.empty() || keys.empty()) return false;
  if (!parse_keys(keys, out)) return false;
  while (!line.empty()) {
    const std::string_view flag = take(line, ' ');  // others are of a later version
    if (flag == kRootOnly) out.root_only = true;
    if (flag == kWaits) out.waits = true;
  }
  return true;
}

}  // namespace

std::string format(const Contact& contact) {
  const std::string flags = cat(contact.root_only ? cat(" ", kRootOnly) : "",
                                contact.waits && !contact.here() ? cat(" ", kWaits) : "");
  if (contact.here()) return contact.name + flags;
  std::string keys;
  for (const HostKey& key : contact.keys) {
    keys += cat(keys.empty() ? "" : ",", key.type, ":", key.digest);
  }
  if (contact.any_key) keys += keys.empty() ? "*" : ",*";
  if (keys.empty()) keys = "-";  // none is accepted
  return cat(contact.name, " ", contact.address, " ", contact.port, " ", contact.user, " ", keys,
             flags);
}

Result<Contact> parse_contact(std::string_view line) {
  Contact out;
  if (parse_fields(line, out)) return out;
  return fail(Error{ErrorKind::protocol,
                    "read how to reach a host",
                    {},
                    cat("malformed contact '", line, "'"),
                    {}});
}

std::string_view contact_name(std::string_view line) {
  return line.substr(0, line.find(' '));
}

}  // namespace scela::nla
