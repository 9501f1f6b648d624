#include "launcher/core/report/general_text.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {
namespace {

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Replaces each occurrence of `word` that is no part of a longer name.
std::string replaced(std::string_view text, std::string_view word, std::string_view by) {
  std::string out;
  while (!word.empty()) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) break;
    const std::size_t end = at + word.size();
    const char before = at > 0 ? text[at - 1] : out.empty() ? ' ' : out.back();
    const bool is_part = is_of_name(before) || before == '.' ||
                         (end < text.size() && is_of_name(text[end])) ||
                         (end + 1 < text.size() && text[end] == '.' && is_of_name(text[end + 1]));
    out += text.substr(0, at);
    out += is_part ? word : by;
    text.remove_prefix(end);
  }
  return out += text;
}

// An IPv4 address has three dots, and an IPv6 address has "::" or seven colons.
bool is_address(std::string_view word) {
  const auto dots = std::ranges::count(word, '.');
  const auto colons = std::ranges::count(word, ':');
  if (colons == 0) {
    return dots == 3 && word.find_first_not_of("0123456789.") == std::string_view::npos &&
           word.front() != '.' && word.back() != '.';
  }
  return (colons == 7 || word.find("::") != std::string_view::npos) &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// Calls `change` with each run of characters that names and addresses are made of.
template <class Change>
std::string for_each_word(std::string_view text, Change&& change) {
  const auto is_part = [](char c) {
    return is_of_name(c) || c == '.' || c == ':' || c == '+' || c == '/';
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end]))
      ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    out += change(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::string without_address(std::string_view word) {
  constexpr std::string_view kFingerprint = "SHA256:";
  if (word.starts_with(kFingerprint)) return cat(kFingerprint, "...");
  std::string_view core = word;
  while (!core.empty() && (core.back() == '.' || core.back() == ':'))
    core.remove_suffix(1);
  if (core.empty() || !is_address(core)) return std::string(word);
  return cat("ADDRESS", word.substr(core.size()));
}

}  // namespace

std::string general_text(std::string_view text, std::string_view host) {
  std::string out = replaced(text, host, "HOST");
  std::string_view bare = host.substr(host.rfind('@') + 1);
  if (const auto colon = bare.find(':'); colon == bare.rfind(':')) bare = bare.substr(0, colon);
  if (bare != host) out = replaced(out, bare, "HOST");
  return for_each_word(out, without_address);
}

}  // namespace scela
