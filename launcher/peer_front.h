// Makes scela-run stand for another tool (mpiexec, srun, pdsh and so on) if it was started under
// that tool's name, or with --as NAME. run_command() calls it before options are parsed. The
// translation itself is launcher/core/compat/peer_words.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"

namespace scela {

// The command line that scela-run runs, or the text that it prints.
struct PeerFront {
  std::vector<std::string> words;        // argv[1..] of scela-run
  std::vector<std::string> notes = {};   // warnings for the user
  std::optional<std::string> text = {};  // set: it is printed, and no job runs
};

// Returns the command line to run. `argv` is that of main(), and `environment` the array of
// "NAME=VALUE"; both end with null. If they name no other tool, the words of argv are returned as
// they are. Reads the host files that the words name, and as dshbak all of standard input. Returns
// an error (kind usage) for options that the tool does not have, or that are refused.
Result<PeerFront> stand_for_peer(char** argv, char** environment);

}  // namespace scela
