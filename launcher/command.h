// The command scela-run: reads what was asked, makes a plan, runs the job, tells how it ended.
#pragma once

namespace scela {

// The exit status; see the table in launcher/core/report.h. Output goes to descriptors 1 and 2.
int run_command(int argc, char** argv);

}  // namespace scela
