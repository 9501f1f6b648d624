// The kinds of spawner, for factory.cpp only. Used on the loop's thread.
#pragma once

#include "nla/io/agent_file.h"
#include "nla/spawn/factory.h"
#include "nla/spawn/remote_start.h"

namespace scela::nla {

class SshIdentities;
class AuthGate;

// These make a session: an executor that runs commands on the node of `contact` over one
// connection. It connects when it is first used. `settings` are the agent's, and `context` says for
// which job and parent it starts agents. `gate` lets the first session of the process authenticate
// alone; the others wait for the result. `io`, `gate` and `identities` must outlive the session.
//
// This one uses libssh. `access` says how to log in; `identities` has the user's keys. User and
// port are those of `contact`.
std::unique_ptr<Executor> make_ssh_session(boost::asio::io_context& io, const Contact& contact,
                                           const SshAccess& access, const SshIdentities& identities,
                                           AuthGate& gate, const Settings& settings,
                                           const SpawnContext& context);

// Makes a session by a program that takes "HOST COMMAND" as its last arguments, as ssh and rsh do.
std::unique_ptr<Executor> make_program_session(boost::asio::io_context& io, const Contact& contact,
                                               AuthGate& gate, const Settings& settings,
                                               const SpawnContext& context);

}  // namespace scela::nla
