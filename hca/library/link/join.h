// The job that this process has named (hca/include/scela/hca_job.h). EngineLink and the functions
// that open the device use it. Any thread may call.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Returns the path at which the job's engine listens, or an empty string if this process has named
// no job.
std::string joined_socket();

// Like connect_engine(). If this process has named its job, the engine is told of it first, because
// it may be another engine than before, which has died.
int connect_told(const std::string& path, Fd& socket, std::string& why);

// Counts a device that was opened (1) or closed (-1).
void count_open(int more);

}  // namespace scela::hca::library
