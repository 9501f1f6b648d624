// The kinds of spawner, for factory.cpp only. Used on the loop's thread.
#pragma once

#include "nla/io/agent_file.h"
#include "nla/spawn/factory.h"
#include "nla/spawn/remote_start.h"

namespace scela::nla {

// Makes a session of one node, by libssh. `identities` and `gate` must outlive the session.
class SshIdentities;
class AuthGate;
std::unique_ptr<Executor> make_ssh_session(boost::asio::io_context& io, const Contact& contact,
                                           const SshAccess& access, const SshIdentities& identities,
                                           AuthGate& gate, const Settings& settings,
                                           const SpawnContext& context);

// Makes a session by a program that takes "HOST COMMAND" as its last arguments, as ssh and rsh do.
// `gate` must outlive the session.
std::unique_ptr<Executor> make_program_session(boost::asio::io_context& io, const Contact& contact,
                                               AuthGate& gate, const Settings& settings,
                                               const SpawnContext& context);

}  // namespace scela::nla
