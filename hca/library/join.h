// The job that this process has named (include/scela/hca_job.h).
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::hca::library {

// Where its engine listens; empty: it has named none.
std::string joined_socket();

// As connect_engine(); if this process has named its job, the engine is told of it first: it may be
// another one than before, which has died.
int connect_told(const std::string& path, Fd& socket, std::string& why);

// The device was opened, or closed.
void count_open(int more);

}  // namespace scela::hca::library
