#include "launcher/core/ssh/ssh_jump.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

constexpr std::string_view kJumpSyntax =
    "write ProxyJump [user@]host[:port], or several with commas";

// Returns true if `text` is no option of ssh and has no character that the shell or ssh's list
// would interpret.
bool is_word(std::string_view text) {
  const auto fits = [](char c) {
    return c > ' ' && c != 0x7f &&
           std::string_view("'\"`\\$;&<>|(){}*?!,").find(c) == std::string_view::npos;
  };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), fits);
}

// Splits "host", "host:port", "[address]:port" or a bare IPv6 address. Returns false if it is
// malformed.
bool split_port(std::string_view text, std::string_view& host, std::string_view& port) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    host = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    if (text.empty()) return true;
    if (text.front() != ':' || text.size() == 1) return false;
    port = text.substr(1);
    return true;
  }
  const std::size_t colon = text.find(':');
  host = text;
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return true;
  }
  host = text.substr(0, colon);
  port = text.substr(colon + 1);
  return !port.empty();
}

Result<SshJump> parse_one(std::string_view text) {
  constexpr std::string_view kScheme = "ssh://";
  const std::string_view whole = text;
  const auto refused = [&] {
    return fail(
        value_error(cat("'", whole, "' is no host to jump through"), std::string(kJumpSyntax)));
  };
  SshJump out;
  if (text.starts_with(kScheme)) {
    text.remove_prefix(kScheme.size());
    if (text.ends_with('/')) text.remove_suffix(1);
  }
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    out.user = text.substr(0, at);
    text.remove_prefix(at + 1);
    if (!is_word(out.user)) return refused();
  }
  std::string_view host;
  std::string_view port;
  if (!split_port(text, host, port) || !is_word(host)) return refused();
  out.host = host;
  if (!port.empty()) {
    auto number = parse_number(port, 1, 65535);
    if (!number) return refused();
    out.port = static_cast<std::uint16_t>(*number);
  }
  return out;
}

}  // namespace

std::string shell_quote(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

Result<SshJump> parse_jump(std::string_view jumps) {
  SshJump last;
  for (;;) {
    const std::size_t comma = jumps.find(',');
    auto jump = parse_one(jumps.substr(0, comma));
    if (!jump) return jump;
    jump->before = last.before;
    last = std::move(*jump);
    if (comma == std::string_view::npos) return last;
    last.before += cat(last.before.empty() ? "" : ",", jumps.substr(0, comma));
    jumps.remove_prefix(comma + 1);
  }
}

std::string jump_command(const SshJump& jump, const std::optional<std::string>& config_file,
                         std::string_view host, std::uint16_t port) {
  std::string out = "ssh";
  if (config_file) out += cat(" -F ", shell_quote(*config_file));
  if (!jump.user.empty()) out += cat(" -l ", shell_quote(jump.user));
  if (jump.port) out += cat(" -p ", *jump.port);
  if (!jump.before.empty()) out += cat(" -J ", shell_quote(jump.before));
  return out + cat(" -W ", shell_quote(cat("[", host, "]:", port)), " ", shell_quote(jump.host));
}

}  // namespace scela
