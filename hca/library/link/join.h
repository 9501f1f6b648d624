// The job that this process has named (hca/include/scela/hca_job.h). EngineLink and the functions
// that open the device use it. Any thread may call.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Connects to the engine of this process's job, or starts it (connect_engine). If the process has
// named its job, the engine is told of it first, because it may be another engine than before,
// which has died. Returns 0 or an errno; `why` then says what was tried.
int connect_told(Fd& socket, std::string& why);

// Counts a device that was opened (1) or closed (-1).
void count_open(int more);

}  // namespace scela::hca::library
