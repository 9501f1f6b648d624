// Connects to the engine of this user and job, and starts one if none listens. EngineLink uses it
// through the job (join.h). Any thread may call.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Return the path of the engine's socket: SCELA_HCA_SOCKET if that is set, or else a path for this
// user and this job. `job` is a word for the job (hca/core/wire/job_socket.h). Without it, the
// launcher's variables name the job.
std::string socket_path();
std::string socket_path(const std::string& job);
// Connects `socket` to the engine that listens at `path`. If there is none, starts one that ends
// with its last process, and blocks up to 20 s for it. Returns 0 or an errno; `why` then says what
// was tried.
int connect_engine(const std::string& path, Fd& socket, std::string& why);

}  // namespace scela::hca::library
