// --pmi auto: what the programs of a job speak, told from their files on this machine.
//
// Reads them, and follows PATH as a node would; where a program is not there, or shows nothing
// (scripts and interpreters), what `mpiexec` is here decides.
#pragma once

#include <string>

#include "common/core/result.h"
#include "launcher/core/options.h"
#include "launcher/plan.h"

namespace scela {

// Leaves in `options.pmi` what was chosen; the answer says what and why, for a person, and is empty
// where nothing had to be chosen.
// Error (usage): the programs of the job speak different things.
Result<std::string> choose_pmi(Options& options, const Surroundings& around);

}  // namespace scela
