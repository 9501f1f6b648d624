#include "launcher/core/ssh/known_hosts.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/ssh/base64.h"
#include "launcher/core/ssh/ssh_patterns.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

constexpr std::uint16_t kSshPort = 22;
// An RSA key of 16384 bits has 2 KiB. Certificates are longer, but they are no host keys here.
constexpr std::size_t kLongestBlob = 16384;

// Removes the first word and the blanks behind it from `line`, and returns the word.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t";
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  return word;
}

bool is_key_type(std::string_view type) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '@' || c == '.';
  };
  return !type.empty() && type.size() <= 64 && std::all_of(type.begin(), type.end(), fits);
}

void add_once(std::vector<KnownKey>& keys, const KnownKey& key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

}  // namespace

std::string known_hosts_name(std::string_view name, std::uint16_t port) {
  std::string lower = to_lower(name);
  return port == kSshPort ? lower : cat("[", lower, "]:", port);
}

bool is_key_of_type(std::string_view type, std::string_view blob) {
  if (!is_key_type(type) || blob.size() > kLongestBlob) return false;
  const auto bytes = decode_base64(blob);
  if (!bytes || bytes->size() < 4) return false;
  // RFC 4253, section 6.6: a key begins with its type, a string with a length field of four bytes.
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length = length << 8 | static_cast<std::uint8_t>((*bytes)[i]);
  return length == type.size() && std::string_view(*bytes).substr(4).starts_with(type);
}

void KnownHosts::add(std::string_view text, std::string_view file_name) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || add_line(line)) continue;
    if (broken_++ == 0) first_broken_ = cat(file_name, ":", number);
  }
}

bool KnownHosts::add_line(std::string_view line) {
  Mark mark = Mark::accepted;
  if (line.front() == '@') {
    const std::string_view marker = take_word(line);
    if (marker != "@revoked" && marker != "@cert-authority") return false;
    mark = marker == "@revoked" ? Mark::revoked : Mark::authority;
  }
  const std::string_view names = take_word(line);
  const std::string_view type = take_word(line);
  const std::string_view blob = take_word(line);  // the rest of the line is a comment
  if (names.empty() || !is_key_of_type(type, blob)) return false;

  const auto entry = static_cast<Index>(keys_.size());
  keys_.push_back({{std::string(type), std::string(blob)}, mark});
  if (names.front() == '|') {
    if (add_hidden(names, entry)) return true;
    keys_.pop_back();
    return false;
  }
  std::vector<std::string> list = split_list(to_lower(names), ',');
  const bool is_plain = std::all_of(list.begin(), list.end(), [](const std::string& name) {
    return name.find_first_of("*?!") == std::string::npos;
  });
  if (!is_plain) {
    patterned_.push_back({std::move(list), entry});
    return true;
  }
  for (const std::string& name : list)
    plain_[name].push_back(entry);
  return true;
}

// Parses "|1|SALT|HASH". The 1 means HMAC-SHA1, the only kind that exists.
bool KnownHosts::add_hidden(std::string_view name, Index entry) {
  constexpr std::string_view kMagic = "|1|";
  if (!name.starts_with(kMagic)) return false;
  name.remove_prefix(kMagic.size());
  const auto bar = name.find('|');
  if (bar == std::string_view::npos) return false;
  auto salt = decode_base64(name.substr(0, bar));
  auto hash = decode_base64(name.substr(bar + 1));
  if (!salt || !hash || hash->size() != Sha1Digest{}.size() || salt->size() != hash->size()) {
    return false;
  }
  auto& lines = keys_[entry].mark == Mark::revoked ? hidden_revoked_ : hidden_;
  lines.push_back({std::move(*salt), std::move(*hash), entry});
  return true;
}

void KnownHosts::collect_visible(const std::string& name, std::vector<Index>& out) const {
  if (const auto found = plain_.find(name); found != plain_.end()) {
    out.insert(out.end(), found->second.begin(), found->second.end());
  }
  for (const Patterned& line : patterned_) {
    if (matches_patterns(name, line.patterns)) out.push_back(line.entry);
  }
}

void KnownHosts::collect_hidden(const std::vector<Hidden>& lines, const std::string& name,
                                HmacSha1 hmac, std::vector<Index>& out) {
  for (const Hidden& line : lines) {
    const Sha1Digest digest = hmac(line.salt, name);
    const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
    if (bytes == line.hash) out.push_back(line.entry);
  }
}

bool KnownHosts::has_accepted(const std::vector<Index>& lines) const {
  return std::any_of(lines.begin(), lines.end(),
                     [this](Index line) { return keys_[line].mark == Mark::accepted; });
}

KnownKeys KnownHosts::find(std::string_view name, std::string_view address, std::uint16_t port,
                           HmacSha1 hmac) const {
  KnownKeys out;
  const auto take = [&](const std::vector<Index>& lines, bool only_revoked) {
    for (const Index line : lines) {
      const Entry& entry = keys_[line];
      if (entry.mark == Mark::revoked) add_once(out.revoked, entry.key);
      if (only_revoked) continue;
      if (entry.mark == Mark::accepted) add_once(out.accepted, entry.key);
      if (entry.mark == Mark::authority) out.has_authority = true;
    }
  };
  std::vector<std::string> names{known_hosts_name(name, port)};
  if (port != kSshPort) names.push_back(to_lower(name));
  for (const std::string& asked : names) {
    std::vector<Index> lines;
    collect_visible(asked, lines);
    // If keys of the name with its port are known, the name alone adds no accepted keys.
    const bool known = !out.accepted.empty();
    if (!known && !has_accepted(lines)) collect_hidden(hidden_, asked, hmac, lines);
    std::sort(lines.begin(), lines.end());
    take(lines, known);
  }
  if (!address.empty() && address != name) {
    names.push_back(known_hosts_name(address, port));
    std::vector<Index> lines;
    collect_visible(names.back(), lines);
    take(lines, true);
  }
  for (const std::string& asked : names) {
    std::vector<Index> lines;
    collect_hidden(hidden_revoked_, asked, hmac, lines);
    take(lines, true);
  }
  std::erase_if(out.accepted, [&](const KnownKey& key) {
    return std::find(out.revoked.begin(), out.revoked.end(), key) != out.revoked.end();
  });
  return out;
}

}  // namespace scela
