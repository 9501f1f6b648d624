// How each host of the job is reached over ssh, found out once by scela-run: from the user's ssh
// configuration, the name service and known_hosts. The contacts are shipped with the host list;
// what only scela-run may use (paths of keys, commands) stays with it.
//
// Blocks: reads files, asks the name service (bounded in threads and time), runs the commands of
// "Match exec". Opens no connection and reads no key of the user's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/known_hosts.h"
#include "launcher/name_lookup.h"
#include "launcher/ssh_user.h"
#include "nla/core/contact.h"

namespace scela {

enum class HostKeyPolicy {
  strict,      // a host must show a key that is known
  accept_new,  // a host of which nothing is known may show any, which is then recorded
};

struct SshHostsOptions {
  std::optional<std::string> config_file;  // as ssh -F; "none"; absent: the user's and the system's
  HostKeyPolicy host_keys = HostKeyPolicy::strict;
  NameLookupLimits lookup;
};

enum class HostPhase { configuration, resolve, host_key };
std::string_view name_of(HostPhase phase);

struct HostFailure {
  HostPhase phase;
  Error error;  // where: the host, as the user wrote it
};

struct SshHost {
  // Name as the user wrote it ("user@" included). Here: this machine itself. root_only also where
  // the address means something on this machine only (loopback, a link-local scope). Behind a proxy
  // the address is the name that the proxy is asked for, which need not resolve here.
  nla::Contact contact;
  std::optional<HostFailure> failure;  // the host cannot be used; the rest is as far as it is known

  // For sessions that scela-run starts itself.
  std::vector<std::string> identities;  // private keys, in the order to try them; may be missing
  std::vector<std::string> certificates;
  bool identities_only = false;  // keys of the ssh agent that are not among them are not offered
  std::string identity_agent;    // socket of the ssh agent; empty: there is none
  std::string proxy_command;     // text for "sh -c exec ...": its streams are the connection
  bool proxy_is_jump = false;    // made from a ProxyJump

  // With contact.any_key: where the key that the host shows is recorded (append_known_host; an
  // empty file: nowhere), and the keys it must not be.
  std::string known_hosts_file;
  std::string known_hosts_name;
  std::uint16_t known_hosts_port = 22;
  std::vector<nla::HostKey> revoked;
};

struct SshHosts {
  std::vector<SshHost> hosts;      // one per name, in their order
  std::vector<std::string> notes;  // lines skipped, files that cannot be read: for --verbose
};

// A name may be "user@host". Error (usage): the ssh configuration as a whole cannot be used.
//
// This machine ("here") is: its own host name, unless HostName says otherwise; or at port 22
// "localhost" and what resolves to a loopback address or one of its interfaces. Not with another
// user or a proxy: those ask for a session.
Result<SshHosts> find_ssh_hosts(const std::vector<std::string>& names,
                                const SshHostsOptions& options, const SshUser& user);

}  // namespace scela
