// The kinds of spawner, for factory.cpp only. Used on the loop's thread.
#pragma once

#include "nla/io/agent_file.h"
#include "nla/spawn/factory.h"
#include "nla/spawn/remote_start.h"

namespace scela::nla {

class AuthGate;

// Makes sessions over libssh: executors that run commands on the node of `contact` over one
// connection each. The keys of the user are read once for all nodes that are reached by the same
// keys.
class SshSessions {
 public:
  virtual ~SshSessions() = default;
  // Returns a session, which connects when it is first used. `settings` are the agent's, and
  // `context` says for which parent it starts agents. `gate` lets the first session of the process
  // authenticate alone; the others wait for the result. This object and `gate` must outlive the
  // session.
  virtual std::unique_ptr<Executor> make(const Contact& contact, AuthGate& gate,
                                         const Settings& settings, const SpawnContext& context) = 0;
};
std::unique_ptr<SshSessions> make_ssh_sessions(boost::asio::io_context& io);

// Makes a session by the program of Settings::launch, which takes a host and a command as ssh and
// rsh do (nla/core/tree/start_words.h).
std::unique_ptr<Executor> make_program_session(boost::asio::io_context& io, const Contact& contact,
                                               AuthGate& gate, const Settings& settings,
                                               const SpawnContext& context);

}  // namespace scela::nla
