// The programs that scela-perf runs one after the other: compilers, and the launchers of jobs. They
// may be called from one thread only; a thread of its own waits for signals.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

// From now on, SIGHUP, SIGINT and SIGTERM do not end this process. They are sent to the process
// group of the program that it runs, and running another program is an error. It must be called
// once, before there are other threads.
void pass_signals_on();

// Returns the last signal that has arrived since pass_signals_on(), or 0 if none has.
int received_signal();

// Returns the words joined by blanks, for example "mpirun -n 2 ./p".
std::string text_of(const std::vector<std::string>& words);

// Runs a program and blocks until it has ended. `words` is its argv; words[0] is found through
// PATH. Returns what it wrote to its standard output; its errors go to standard error. Error
// (launch): it could not be started, a signal ended it, or its status was not 0.
Result<std::string> output_of(const std::vector<std::string>& words);

}  // namespace scela::perf
