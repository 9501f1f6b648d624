// The programs that scela-perf runs one after the other: compilers, and the launchers of jobs. They
// may be called from one thread only; a thread of its own waits for signals.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

// From now on, SIGHUP, SIGINT and SIGTERM do not end this process. They end the process group of
// the program that it runs, and running another program is an error. It must be called once, before
// there are other threads.
void pass_signals_on();

// Returns the signal that has arrived since, or 0 if none has.
int signal_that_came();

// Returns the words joined, for example "mpirun -n 2 ./p".
std::string text_of(const std::vector<std::string>& words);

// Runs a program, found through PATH, and blocks until it has ended. Returns what it wrote to its
// standard output; its errors go to standard error. An end with a status other than 0 is an error.
Result<std::string> output_of(const std::vector<std::string>& words);

}  // namespace scela::perf
