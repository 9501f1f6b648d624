// scela-run --attach: tells of a job that another scela-run has started, to the user or to a
// debugger.
//
// A debugger starts this scela-run, sets MPIR_being_debugged and breaks at MPIR_Breakpoint, where
// it finds the table of the job's processes (mpir.h). The scela-run of the job itself cannot be
// attached to by its user, because it holds the job's keys.
#pragma once

#include "launcher/core/options/options.h"

namespace scela {

// Carries out --attach, prints to standard output, and returns the exit status. Without
// --stack-traces the answer is the table of processes; with it, the stacks of all ranks. Under a
// debugger, it publishes the table and blocks until the job ends.
int run_attach(const Options& options);

}  // namespace scela
