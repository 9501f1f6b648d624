// What the user reads after a program ran once on each host: how many hosts ended in which way,
// each host named once.
//
//   scela-run:   node[11-12] unreachable (connect): Connection refused
//   scela-run: ok 37 (node[001-006,008]) · exit 1: 1 (node007) · unreachable 2 (node[11-12])
//
// Values in, text out.
#pragma once

#include <string>

#include "launcher/core/report.h"

namespace scela {

// The largest status that any host gave: its exit code, 128 plus its signal, or what the table says
// of hosts that could not be reached, timed out, and so on.
int largest_status(const JobOutcome& job);
// Causes that need words, the summary, and last what ended the whole job, if something did. Empty
// if every host did well and JobOutcome::tell_all is not set.
std::string hosts_verdict_text(const JobOutcome& job);

}  // namespace scela
