// Makes the spawners, which start the agents of other nodes. An agent is the process of a job on a
// node. The shells of scela-run and of agents use it; everything runs on the shell's loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nla/dial/dial_credential.h"
#include "nla/io/shell_settings.h"
#include "nla/link/factory.h"
#include "nla/spawn/spawner.h"

namespace scela::nla {

// The credentials with which scela-run may reach one node. They are never sent to other nodes.
struct SshAccess {
  std::vector<std::string> identities;    // private key files, in order
  std::vector<std::string> certificates;  // of these keys, besides FILE-cert.pub
  bool identities_only = false;           // no other keys of the ssh-agent
  std::string agent_socket;               // of an ssh-agent; empty: none
  // A command (ProxyCommand of ssh); its standard input and output are the connection to the node.
  // It may be empty.
  std::string proxy;
};

class SshSessions;

// The parts of the shell that need libssh, OpenSSL and libmunge: starting agents over ssh
// (nla/spawn/kinds.h), links over TLS (nla/link/tls.h), and credentials of munge
// (nla/dial/dial_credential.h). scela-run and scela-nla have them. scela-leaf, the small agent for
// nodes that start no others, does not: nothing but network_parts() refers to those libraries.
struct NetworkParts {
  std::unique_ptr<SshSessions> (*make_ssh_sessions)(boost::asio::io_context& io);
  decltype(&nla::connect_tls) connect_tls;
  decltype(&nla::accept_tls) accept_tls;
  decltype(&nla::open_dial_credential) open_dial_credential;
};
const NetworkParts& network_parts();

// The part of starting agents that only the process itself knows; the rest is in Settings.
struct SpawnContext {
  // ssh and TLS; nullptr: this program has neither.
  const NetworkParts* network = nullptr;
  std::string agent;  // path of scela-nla here
  // A descriptor of the agent's package, borrowed; -1: it is searched beside the agent.
  int package = -1;
  // This is scela-run, which may start nodes that agents may not (Contact::root_only).
  bool root = false;
  // The secret of the job if a bulk starter has started all agents (nla/dial/dial_hello.h); else
  // empty.
  std::string dial_secret;
  // Returns the processes of bulk starters: children of this process that lead sessions. It may be
  // empty.
  std::function<std::vector<pid_t>()> bulk_starters;
  // Returns the credentials for a node. For the root only; without it, the usual key files and
  // $SSH_AUTH_SOCK are used.
  std::function<SshAccess(const std::string& node)> access_of;
  // The nodes that are known to be unreachable, and why. For the root only. Their contacts have a
  // name and Contact::root_only alone.
  std::map<std::string, std::string> unreachable;
  // Called with a host key, "TYPE BASE64", if any key of that host is accepted. Returns false if
  // this one is not.
  std::function<bool(const Contact&, const std::string& key)> met_host_key;
};

// Makes the spawner that starts each node's agent as its contact says (nla/core/wire/contact.h). On
// this machine the agent has a session of its own and is linked by a socket pair (simulated nodes
// too). Elsewhere it is started over ssh, by the means that the settings name.
std::unique_ptr<Spawner> make_spawner(boost::asio::io_context& io, SpawnContext context,
                                      const Settings& settings);

// Returns the path of the agent's program, scela-nla, for scela-run. The places are `wanted` (if it
// is not empty), the directory of its own executable, and ../libexec/scela. `wanted` must exist
// here, unless `elsewhere` says that it may be meant for other machines. Error (launch): it is in
// none of the places, which the text names.
Result<std::string> find_agent(const std::string& wanted, bool elsewhere);

// Makes a spawner that starts agents on this machine only. `agent` is the path of scela-nla.
std::unique_ptr<Spawner> make_local_spawner(boost::asio::io_context& io, std::string agent);

}  // namespace scela::nla
