// One ssh connection to one node, over libssh: reach it, check its host key, authenticate, execute
// a command whose standard input and output become a transport.
//
// Non-blocking, many per process, one thread; only the work of an ssh-agent (whose protocol libssh
// speaks in blocking calls) is done in a thread of its own. Nothing is read from ~/.ssh/config or
// known_hosts: the contact says everything (nla/core/contact.h). Each phase has a time limit.
// libssh stays inside the .cpp file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "nla/core/contact.h"
#include "nla/spawn/remote_start.h"
#include "nla/spawn/ssh_identities.h"

namespace scela::nla {

// Everything given by reference outlives the session. Destroying it ends a connection that is not
// used by a transport.
class SshSession final : public Executor {
 public:
  SshSession(boost::asio::io_context& io, Contact contact, const SshIdentities& identities,
             AuthGate& gate, std::chrono::milliseconds phase_limit);
  ~SshSession() override;
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  // Whoever executes commands there may use the ssh-agent of the identities. Before execute().
  void forward_agent();
  // A proxy's stream instead of a connection of its own, and its standard error. Before the first
  // execute().
  void use_proxy(Fd stream, Fd errors);
  // Called once, when a key is about to be accepted because any is; false: not this one.
  void on_host_key(std::function<bool(const std::string& key)> met);

  void execute(const std::string& command, Done done) override;
  int exit_status() const override;
  std::string error_output() override;
  std::string described() const override { return "its login shell"; }
  void abandon() override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace scela::nla
