// The command scela-run: parses the command line, makes a plan, runs the job and reports how it
// ended. Only main() uses it, in one thread.
#pragma once

namespace scela {

// Takes the arguments of main(); argv[0] is the program. Blocks until the job has ended, writes to
// descriptors 1 and 2, and returns the exit status of scela-run (table in
// launcher/core/report/job_report.h).
int run_command(int argc, char** argv);

}  // namespace scela
