// The ways to start an agent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nla/settings.h"
#include "nla/spawn/spawner.h"

namespace scela::nla {

// What scela-run may use to reach one node, and does not ship.
struct SshAccess {
  std::vector<std::string> identities;    // private key files in the order to try them
  std::vector<std::string> certificates;  // of these keys, besides FILE-cert.pub
  bool identities_only = false;           // no other keys of the ssh-agent, if these can be used
  std::string agent_socket;               // of an ssh-agent; empty: none
  std::string proxy;                      // a command whose standard streams are the connection
};

// What only the process itself knows of how it starts agents; the rest is in Settings.
struct SpawnContext {
  std::string agent;  // path of scela-nla here
  bool root = false;  // scela-run: may start what other nodes may not
  // Root only; without it: the usual key files and $SSH_AUTH_SOCK.
  std::function<SshAccess(const std::string& node)> access_of;
  // A key was met of a host of which any key is accepted, "TYPE BASE64". False: but not this one.
  std::function<bool(const Contact&, const std::string& key)> met_host_key;
};

// Starts each node's agent as its contact says: on this machine, in a session of its own and linked
// by a socket pair (simulated nodes too); or over ssh, by the means that the settings name.
std::unique_ptr<Spawner> make_spawner(boost::asio::io_context& io, SpawnContext context,
                                      const Settings& settings);

// Where scela-run finds its own scela-nla: `wanted` (empty: none is), beside its own executable, in
// ../libexec/scela. What is wanted must be here unless it may be meant for other machines.
// Error (launch): nowhere; the text names the places.
Result<std::string> find_agent(const std::string& wanted, bool elsewhere);

// On this machine only.
std::unique_ptr<Spawner> make_local_spawner(boost::asio::io_context& io, std::string agent);

}  // namespace scela::nla
