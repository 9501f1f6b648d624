// Text of --show-config: the value of each option and where it was set. The command uses it. The
// function is pure.
#pragma once

#include <string>

#include "launcher/core/options/options.h"

namespace scela {

// Returns one line per option: its name, its value and its source. The source is "default", a
// variable, "FILE:LINE" of a configuration file, or "command line". An option that may be given
// several times has a line for each value. A later program's own options follow, with its number.
std::string config_text(const Options& options);

}  // namespace scela
