// The agents that a node keeps in the user's cache, so that later runs send only a digest. Each has
// a directory of its own in $XDG_CACHE_HOME/scela or ~/.cache/scela, which is named by the digest
// of its executable and holds scela-nla and its package. The command of
// nla/core/tree/remote_shell.h looks there and verifies the executable before it runs it.
//
// scela-nla stores itself when it was sent. All functions block on the file system. Errors are
// ignored, because the job does not need the cache: nothing then stays under its final name.
#pragma once

#include <string>

namespace scela::nla {

// So many agents are kept; with a new one, the ones that were used least recently are removed.
inline constexpr int kCachedAgents = 3;

// Stores the program that runs here, and the package that the descriptor `package` has open, in
// `directory`, an absolute path. The parent directory exists and is of this user only. Another
// process may store the same at the same time. If `directory` exists, nothing changes.
void store_agent(const std::string& directory, int package);

// Notes that the agent in `directory` was used now.
void note_agent_use(const std::string& directory);

}  // namespace scela::nla
