// Reads whole files that the user names, and standard input, into memory. launcher/command.cpp and
// launcher/peer_front.cpp use it. The functions block until the file ends.
#pragma once

#include <string>

#include "common/core/result.h"

namespace scela {

// Returns the text of a file. `what` names it in errors: "host file". Returns an error (kind usage)
// if it cannot be read, or is larger than 64 MiB: a file of a hundred thousand hosts has a few
// megabytes, and a file that never ends is a mistake.
Result<std::string> read_file(const std::string& path, const std::string& what);

// Returns all of standard input. `task` is what is tried and `hint` what to do, for errors (kind
// usage), which are those of read_file().
Result<std::string> read_standard_input(const std::string& task, const std::string& hint);

}  // namespace scela
