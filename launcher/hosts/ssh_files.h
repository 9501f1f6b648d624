// Reads an ssh user's configuration and known_hosts files, and appends to known_hosts.
// ssh_hosts.cpp and launcher/hosts/host_contacts.cpp use it.
//
// Files are read whole, up to kLargestSshFile bytes. The functions block on the file system and
// share no state between calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/ssh/known_hosts.h"
#include "launcher/core/ssh/ssh_config.h"

namespace scela {

// Maximum size in bytes. It suffices for the keys of 100,000 hosts.
inline constexpr std::size_t kLargestSshFile = std::size_t{16} << 20;

// Tells whether to stop the reading of a file that does not end, such as a FIFO. It is asked every
// kStopInterval (launcher/hosts/name_lookup.h); if it is not set, such a file is waited for.
using StopReading = std::function<bool()>;

// Returns the text of a file, or std::nullopt if there is no such file. Returns an error (kind
// usage) if the file cannot be read or is too large, or if the reading was stopped.
Result<std::optional<std::string>> read_ssh_file(const std::string& path,
                                                 const StopReading& stop = {});

// Returns the configurations that apply, in order of precedence. If `named` is set (as ssh -F),
// only that file is read, and "none" means no file. Otherwise these are `home`/.ssh/config and
// `system`/ssh_config, as far as they exist. `home` is the user's home directory, and `system` is
// usually /etc/ssh.
//
// Returns an error (kind usage) if a file is malformed or not readable, or if the named file is
// missing. As ssh does, it also refuses a user's file that others own or may write to.
Result<std::vector<SshConfig>> read_ssh_config(const std::optional<std::string>& named,
                                               const std::string& home, const std::string& system,
                                               const StopReading& stop = {});

// Appends a line with the accepted key of host `name` at `port` to the known_hosts file `path`. It
// uses one write, so that several commands at once do not mix their lines. It creates the file
// (mode 0600) and its directory (0700) if they are missing. Returns an error of kind io, or of kind
// protocol if the name or the key does not fit into one line of the file.
Result<void> append_known_host(const std::string& path, const std::string& name, std::uint16_t port,
                               const KnownKey& key);

}  // namespace scela
