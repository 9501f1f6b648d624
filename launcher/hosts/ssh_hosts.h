// Finds out how each host of the job is reached over ssh, once, in scela-run. It reads the user's
// ssh configuration and known_hosts and asks the name service. launcher/hosts/host_access.cpp uses
// it. The contacts travel with the host list. Paths of keys and commands are for scela-run only and
// stay with it.
//
// find_ssh_hosts() blocks: it reads files, asks the name service (with bounded threads and time),
// and runs the commands of "Match exec". It opens no connection and reads none of the user's
// private keys.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/ssh/known_hosts.h"
#include "launcher/hosts/name_lookup.h"
#include "launcher/hosts/ssh_user.h"
#include "nla/core/wire/contact.h"

namespace scela {

enum class HostKeyPolicy {
  strict,  // a host must show a known key
  // A host without any known key may show any key, which is then recorded.
  accept_new,
};

struct SshHostsOptions {
  // As ssh -F; "none" is allowed. If absent, the user's and the system's files are read.
  std::optional<std::string> config_file;
  HostKeyPolicy host_keys = HostKeyPolicy::strict;
  NameLookupLimits lookup;
};

// Says which step failed: reading the ssh configuration for the host, finding its address, or
// finding the keys that it may show.
enum class HostPhase { configuration, resolve, host_key };
std::string_view name_of(HostPhase phase);

struct HostFailure {
  HostPhase phase;
  Error error;  // its `where` is the host as written
};

struct SshHost {
  // The name is as the user wrote it, "user@" included. here() is true for this machine itself.
  // root_only is also set if the address is valid on this machine only (loopback, or a link-local
  // scope). Behind a proxy, the address is the name that the proxy gets; it need not resolve here.
  nla::Contact contact;
  // Set if the host cannot be used. The other fields are then filled as far as they are known.
  std::optional<HostFailure> failure;

  // The following fields are for ssh sessions that scela-run itself starts.
  // Paths of private keys, in the order to try them. The files may be missing.
  std::vector<std::string> identities;
  std::vector<std::string> certificates;
  // Keys of the ssh agent are not offered unless they are among `identities`.
  bool identities_only = false;
  std::string identity_agent;  // socket of the ssh agent; may be empty
  // Text for "sh -c exec ...". The streams of this command are the connection.
  std::string proxy_command;
  bool proxy_is_jump = false;  // made from a ProxyJump

  // If contact.any_key is set, the key that the host shows is recorded here (append_known_host),
  // unless the file name is empty. Keys in `revoked` are refused.
  std::string known_hosts_file;
  std::string known_hosts_name;
  std::uint16_t known_hosts_port = 22;
  std::vector<nla::HostKey> revoked;
};

struct SshHosts {
  std::vector<SshHost> hosts;  // one per name, in their order
  // Lines for --verbose about skipped lines and files that cannot be read.
  std::vector<std::string> notes;
};

// Finds out how the hosts are reached. A name may be "user@host". Returns an error (kind usage) if
// the ssh configuration as a whole cannot be used; errors of one host are in SshHost::failure.
//
// A host is this machine if its name is this machine's host name, unless the configuration has a
// HostName for it. At port 22 it is also this machine if it is "localhost" or resolves to a
// loopback address or an interface's address. A host with another user or a proxy needs an ssh
// session and is not this machine.
Result<SshHosts> find_ssh_hosts(const std::vector<std::string>& names,
                                const SshHostsOptions& options, const SshUser& user);

}  // namespace scela
