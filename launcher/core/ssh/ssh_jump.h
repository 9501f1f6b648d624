// Translates ProxyJump into an equivalent command (ssh_config(5)). Its value is
// "[user@]host[:port],..." or ssh:// URIs, the nearest host first. launcher/hosts/ssh_hosts.cpp
// uses it. All functions are pure. Errors have `why` and `hint` only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

// The last host of a ProxyJump value, and the hosts by which that one is reached.
struct SshJump {
  std::string user;  // empty: from the configuration
  std::string host;
  std::optional<std::uint16_t> port;  // absent: from the configuration
  std::string before;                 // the hosts before it, as in ProxyJump
};

// Parses the value of ProxyJump. Returns an error if a host, user or port is malformed or could be
// read as an option.
Result<SshJump> parse_jump(std::string_view jumps);

// Returns a shell command: an ssh to the jump host that connects its standard streams to host:port.
// `config_file` is the value of ssh -F, or absent if none was given.
std::string jump_command(const SshJump& jump, const std::optional<std::string>& config_file,
                         std::string_view host, std::uint16_t port);

// Returns the word in single quotes, so that a POSIX shell does not change it.
std::string shell_quote(std::string_view word);

}  // namespace scela
