// The command scela-run: parses the command line, makes a plan, runs the job and reports how it
// ended. Only main() uses it, in one thread.
#pragma once

namespace scela {

// Blocks until the job has ended and returns the exit status (table in
// launcher/core/report/report.h). It writes to descriptors 1 and 2.
int run_command(int argc, char** argv);

}  // namespace scela
