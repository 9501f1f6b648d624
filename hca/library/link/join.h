// The job that this process has named (hca/include/scela/hca_job.h). EngineLink and the functions
// that open the device use it. Any thread may call.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Connects `socket` to the engine of this process's job, or starts that engine (connect_engine()).
// If the process has named its job, the engine is told of it first, because it may be another
// engine than before, which has died. Returns 0 or an errno; `why` then says what was tried.
int connect_told(Fd& socket, std::string& why);

// Counts the open devices of this process: `more` is 1 for a device that was opened, and -1 for one
// that was closed. A process that has one open cannot name its job any more.
void count_open(int more);

}  // namespace scela::hca::library
