// The job that this process has named (include/scela/hca_job.h).
#pragma once

#include <string>

namespace scela::hca::library {

// Where its engine listens; empty: it has named none.
std::string joined_socket();

// The device was opened, or closed.
void count_open(int more);

}  // namespace scela::hca::library
