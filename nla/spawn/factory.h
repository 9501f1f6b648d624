// The ways to start an agent.
#pragma once

#include <memory>
#include <string>

#include "nla/spawn/spawner.h"

namespace scela::nla {

// On this machine: executes `agent` (path of scela-nla) in a session of its own, linked by a socket
// pair. For simulated nodes.
std::unique_ptr<Spawner> make_local_spawner(boost::asio::io_context& io, std::string agent);

// Where scela-run finds scela-nla: $SCELA_AGENT, beside its own executable, in ../libexec/scela.
// Error (usage): nowhere; the text names the places.
Result<std::string> find_agent();

}  // namespace scela::nla
