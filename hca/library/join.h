// The job that this process has named (include/scela/hca_job.h).
#pragma once

#include <string>

namespace scela::hca::library {

// Where its engine listens; empty: it has named none.
std::string joined_socket();

// If this process has named its job, tells it to the engine there is now, where that is another
// one: the one before has died. 0, or errno; `why` says what was tried.
int join_again(std::string& why);

// The device was opened, or closed.
void count_open(int more);

}  // namespace scela::hca::library
