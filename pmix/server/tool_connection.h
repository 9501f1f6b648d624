// The connection of scela-pmix, as a tool, to a PMIx server. Private to the tool
// (pmix/server/tool.h). There is one at most in a process, and one thread uses it.
#pragma once

#include <pmix.h>

#include <optional>
#include <string>

#include "common/core/result.h"
#include "pmix/server/tool.h"

namespace scela::pmix {

// The server of the environment, and the process for which its variables are.
struct ServerOfJob {
  std::string uri;     // empty: no variable names a server
  std::string nspace;  // of the process; empty: the variables are for none
};

// Returns what the variables say, and removes those that name a process. To be called once, before
// connect().
ServerOfJob take_server_of_job();
// Connects to the server, which is searched for if it is not named. Returns the server's own name,
// "NAMESPACE.RANK". A server that does not say that it takes tools is not tried. Blocks, perhaps for
// ever. If the connection ends later, the process ends with status 69.
Result<std::string> connect(const ServerOfJob& job);
// Has losses of nodes noted from now on: those that the server tells behind its answer to a query
// that this function asks. Returns an error (kind unreachable) if the server refuses. Blocks.
Result<void> note_losses(const std::string& server);
// Writes "listening", a line for each loss that was noted, and then one for each further loss.
// Returns an exit status when standard output is gone.
int write_losses();
// Returns the number of processes in the namespace, or std::nullopt if the server does not say.
std::optional<std::uint32_t> size_of_job(const std::string& nspace);
// Says on standard error why this program could not do its work. Returns its exit status.
int complain(const Error& error);

}  // namespace scela::pmix
