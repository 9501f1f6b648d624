// One ssh connection to one node, over libssh. It reaches the node, checks its host key,
// authenticates, and executes a command. The command's standard input and output become a
// transport. The spawner uses it.
//
// Non-blocking, many per process, one thread. Only the work of an ssh-agent (libssh speaks its
// protocol in blocking calls) is done in a thread of its own. Nothing is read from ~/.ssh/config or
// known_hosts, since the contact says everything (nla/core/wire/contact.h). Each phase has a time
// limit. libssh is used only in the .cpp file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "nla/core/wire/contact.h"
#include "nla/spawn/auth_gate.h"
#include "nla/spawn/remote_start.h"
#include "nla/spawn/ssh/ssh_identities.h"

namespace scela::nla {

// Everything given by reference must outlive the session. If a transport uses the connection, it
// stays until the transport is gone; otherwise the destructor ends it.
class SshSession final : public Executor {
 public:
  // `phase_limit` is the time for each phase: connecting, exchanging keys, authenticating.
  SshSession(boost::asio::io_context& io, Contact contact, const SshIdentities& identities,
             AuthGate& gate, std::chrono::milliseconds phase_limit);
  ~SshSession() override;
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  // Allows programs on the node to use the ssh-agent of the identities. To be called before
  // execute().
  void forward_agent();
  // Uses a proxy's stream instead of a connection of its own; `errors` is the proxy's standard
  // error. To be called before the first execute().
  void use_proxy(Fd stream, Fd errors);
  // Sets a function that is called once, with a key that is about to be accepted because the
  // contact accepts any key. It returns false to refuse this key.
  void on_host_key(std::function<bool(const std::string& key)> met);

  // Connects and authenticates if that is not done, and executes the command. `done` gets the
  // transport of its standard input and output, or the failure (Executor).
  void execute(const std::string& command, Done done) override;
  // Returns the exit status of the command: 128 + N if signal N ended it, and -1 if it is unknown.
  int exit_status() const override;
  // Returns the last output of the command to standard error.
  std::string error_output() override;
  std::string described() const override { return "its login shell"; }
  // Sends the command SIGTERM, because it is not needed any more.
  void abandon() override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace scela::nla
