// Finds out how each host of the job is reached over ssh, once, in scela-run. It reads the user's
// ssh configuration and known_hosts and asks the name service. launcher/hosts/host_contacts.cpp
// uses it. The result has a contact for each host: name, address, port, user and accepted host keys
// (nla/core/wire/contact.h). The contacts travel with the host list. Paths of keys and commands are
// for scela-run only and stay with it.
//
// find_ssh_hosts() blocks: it reads files, asks the name service (with bounded threads and time),
// and runs the commands of "Match exec". It opens no connection and reads none of the user's
// private keys. Several threads may call it.
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

// Says which host keys are accepted.
enum class HostKeyPolicy {
  strict,  // a host must show a known key
  // A host without any known key may show any key, which is then recorded.
  accept_new,
  // So may a host with a known key, with a warning; it is not recorded.
  any,
};

// The settings of find_ssh_hosts().
struct SshHostsOptions {
  // As ssh -F; "none" is allowed. If absent, the user's and the system's files are read.
  std::optional<std::string> config_file;
  // --ssh-host-keys. If absent, StrictHostKeyChecking of the configuration applies, which is strict
  // by default.
  std::optional<HostKeyPolicy> host_keys;
  // --user. The login on hosts that are named without a user. It wins over the configuration.
  std::optional<std::string> user;
  // The limits of all name lookups together. `stop` is asked while commands of "Match exec"
  // run and while FIFOs are read, too.
  NameLookupLimits lookup;
};

// Says which step failed: reading the ssh configuration for the host, finding its address, or
// finding the keys that it may show. name_of() returns the step's name, for messages.
enum class HostPhase { configuration, resolve, host_key };
std::string_view name_of(HostPhase phase);

// Says why a host cannot be used.
struct HostFailure {
  HostPhase phase;
  Error error;  // its `where` is the host as written
};

// Says how one host is reached.
struct SshHost {
  // The name is as the user wrote it, "user@" included. here() is true for this machine itself.
  // Behind a proxy, the address is the name that the proxy gets; it need not resolve here.
  //
  // root_only says that only scela-run can start the agent. It is set for this machine, behind a
  // proxy, if no host key is known, and if any is accepted but revoked ones. It is also set if the
  // address is valid on this machine only (loopback, or a link-local scope).
  nla::Contact contact;
  // Set if the host cannot be used. The other fields are then filled as far as they are known.
  std::optional<HostFailure> failure;

  // The remaining fields are for ssh sessions that scela-run itself starts. These are paths of
  // private keys, in the order to try them. The files may be missing.
  std::vector<std::string> identities;
  // Paths of certificates of these keys, as CertificateFile names them.
  std::vector<std::string> certificates;
  // Keys of the ssh agent are not offered unless they are among `identities`.
  bool identities_only = false;
  std::string identity_agent;  // socket of the ssh agent; may be empty
  // A shell command, without the leading "exec". Its standard streams are the connection. Empty if
  // the host is reached directly.
  std::string proxy_command;
  bool proxy_is_jump = false;  // the command was made from a ProxyJump

  // If contact.any_key is set and no key is known, the key that the host shows is recorded here,
  // under this name and port (append_known_host). If the file name is empty, it is not recorded.
  std::string known_hosts_file;
  std::string known_hosts_name;
  std::uint16_t known_hosts_port = 22;
  // Keys that must be refused, also if contact.any_key is set.
  std::vector<nla::HostKey> revoked;
};

// The result of find_ssh_hosts().
struct SshHosts {
  std::vector<SshHost> hosts;  // one per name, in their order
  // Lines for --verbose about skipped lines and files that cannot be read.
  std::vector<std::string> notes;
};

// Finds out how the hosts are reached. A name may be "user@host:port", which take precedence over
// the configuration. `user` describes the user and
// this machine. Returns an error (kind usage) if the ssh configuration as a whole cannot be used;
// errors of one host are in SshHost::failure.
//
// A host is this machine if its name is this machine's host name, unless the configuration has a
// HostName for it. At port 22 it is also this machine if it is "localhost" or resolves to a
// loopback address or an interface's address. At another port it is this machine if its name is
// this machine's with a domain, and resolves to an interface's address; the configuration has the
// port then, and not the name. A host with another user or a proxy needs an ssh
// session and is not this machine.
Result<SshHosts> find_ssh_hosts(const std::vector<std::string>& names,
                                const SshHostsOptions& options, const SshUser& user);

}  // namespace scela
