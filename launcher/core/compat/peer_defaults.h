// Adds to a translated command line what the peer does without being told, where scela-run does
// otherwise by default. launcher/core/compat/peer_words.cpp calls it after the last option. The
// function is pure, except that host files are read by PeerCall::read.
#pragma once

#include "launcher/core/compat/peer_call.h"

namespace scela {

// Adds the words. The result has all options that the job needs; only the programs follow. Returns
// an error (kind usage) if the peer would not run without further options, such as hosts.
Result<void> add_defaults(PeerCall& call);

}  // namespace scela
