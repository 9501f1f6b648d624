// Reports what a process has used to the launcher that started it. `scela-run --stats` names a file
// in SCELA_COUNTERS, and the channel appends one line to that file when it closes.
#pragma once

#include <span>
#include <string>

#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

// Returns one line: channel {"connections":2,...,"peers":{"5":{"messages_sent":1,...},...}}.
// `peers` is indexed by rank. The peers with the most bytes come first, as many as the launcher
// takes.
std::string counters_text(const Counters& counters, std::span<const PeerCounters> peers);

// Appends the line, or does nothing if SCELA_COUNTERS names no absolute path. A write that fails is
// not reported here: the launcher says how many ranks have reported.
void write_counters(const Counters& counters, std::span<const PeerCounters> peers);

}  // namespace scela::channel
