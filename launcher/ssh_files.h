// The files of an ssh user: the configuration and known_hosts are read, known_hosts is added to.
//
// Files are read whole, at most kLargestSshFile. Blocks as the file system does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/known_hosts.h"
#include "launcher/core/ssh_config.h"

namespace scela {

inline constexpr std::size_t kLargestSshFile = std::size_t{16} << 20;  // 100,000 hosts' keys

// Absent: there is no such file. Error (usage): it is there and cannot be read.
Result<std::optional<std::string>> read_ssh_file(const std::string& path);

// The configurations that count, the first before the second: the one that is named (as ssh -F;
// "none": none at all), else the user's in `home`/.ssh and the system's in `system` (/etc/ssh).
// Error (usage): malformed, not readable, a named one is missing, or the user's own belongs to or
// can be written by others, as ssh refuses it.
Result<std::vector<SshConfig>> read_ssh_config(const std::optional<std::string>& named,
                                               const std::string& home, const std::string& system);

// Appends a key that was accepted for a host, in one write, so that several commands at once do not
// mix their lines. Makes the file (0600) and its directory (0700) where they are missing.
// Error (io); (protocol) a name or key that would not be one line of the file.
Result<void> append_known_host(const std::string& path, const std::string& name, std::uint16_t port,
                               const KnownKey& key);

}  // namespace scela
