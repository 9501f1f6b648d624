// ProxyJump as the command that does the same (ssh_config(5)): "[user@]host[:port],..." or
// ssh:// URIs, the nearest host first. Values only; errors carry their why and hint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

// The last host on the way, and the way to it.
struct SshJump {
  std::string user;  // empty: as the configuration says
  std::string host;
  std::optional<std::uint16_t> port;  // absent: as the configuration says
  std::string before;                 // the hosts before it, as given
};

Result<SshJump> parse_jump(std::string_view jumps);

// Text for a shell: an ssh that carries its standard streams to host:port. `config_file`: the
// value of ssh -F; absent: none was named.
std::string jump_command(const SshJump& jump, const std::optional<std::string>& config_file,
                         std::string_view host, std::uint16_t port);

// A word that a POSIX shell takes as it is.
std::string shell_quote(std::string_view word);

}  // namespace scela
