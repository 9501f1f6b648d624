// Connects to the engine of this user and job, and starts one if none listens. EngineLink uses it
// through the job (join.h). Any thread may call.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Returns the path of the engine's socket. That is SCELA_HCA_SOCKET, or a path for this user and
// this job. `job` names the job, or else the launcher does (hca/core/wire/job_socket.h).
std::string socket_path();
std::string socket_path(const std::string& job);
// Connects to the engine that listens at `path`. If there is none, starts one that ends with its
// last process, and waits up to 20 s for it. Returns 0 or an errno; `why` then says what was tried.
int connect_engine(const std::string& path, Fd& socket, std::string& why);

}  // namespace scela::hca::library
