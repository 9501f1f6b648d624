// First pass over the command line: which words are options, which are the program's, and what
// mpiexec users type in single-dash words.
//
// Stops reading options at the program's name (the first word that is neither an option nor an
// option's argument, or the word after "--"): `-n 2 ./p -n 5` leaves `-n 5` to ./p. A lone ":"
// begins the next program. Rewrites -np N, -ppn N, -hosts LIST, -env K V, -genv K V and -wdir D to
// the long options, and takes clusters of short flags apart (-lv), so that the next pass needs to
// know neither. Values only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

struct ProgramWords {
  std::vector<std::string> options;  // --name, --name=value, -n, -n2 and separate argument words
  std::vector<std::string> argv;     // program and its arguments; may be empty
};

// At least one element. Errors (kind usage): an unknown single-dash word, a spelling short of an
// argument.
Result<std::vector<ProgramWords>> split_programs(const std::vector<std::string>& words);

// "unknown option -hostfile (did you mean --hostfile? see scela-run --help)"
Error unknown_option(std::string_view word);

}  // namespace scela
