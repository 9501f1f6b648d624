// The programs that scela-perf runs one after the other: compilers, and the launchers of jobs.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

// From now on SIGHUP, SIGINT and SIGTERM end no longer this process, but the program that it runs,
// with the process group of that; what would be run after that is an error. Called once, before
// there are other threads.
void pass_signals_on();

// The signal that has come since; 0: none.
int signal_that_came();

// "mpirun -n 2 ./p"
std::string text_of(const std::vector<std::string>& words);

// Runs a program, found by PATH, and blocks until it has ended: what it wrote to its standard
// output. Its errors go to standard error. An end other than with status 0 is an error.
Result<std::string> output_of(const std::vector<std::string>& words);

}  // namespace scela::perf
