// The sizes and times of the agent's shell. Each says why it is what it is and what a wrong value
// does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::nla {

// Bytes taken from one link before others get their turn. Smaller: more turns per megabyte; larger:
// one busy child delays the others.
inline constexpr std::size_t kLinkTurn = std::size_t{256} * 1024;
// Size of the one buffer that everything is read into; a pipe holds as much.
inline constexpr std::size_t kReadBuffer = std::size_t{64} * 1024;
// Bytes queued on a link above which nothing more is read that could add to them. Smaller: links
// run dry; larger: memory. A few dozen pieces.
inline constexpr std::size_t kHighWater = std::size_t{1024} * 1024;
// Parts handed to one writev; the kernel takes at most 1024.
inline constexpr int kWriteParts = 64;
// An agent whose parent has not told it yet how often it beats takes it for lost after three times
// this. Smaller: a slow start of a large tree ends itself; larger: agents whose scela-run has
// vanished meanwhile stay longer.
inline constexpr std::uint32_t kUnknownHeartbeatMs = 10'000;
// A link changes to TCP once it has carried this much, or is this old. Smaller: commands that are
// over in a moment pay for a handshake (1 ms of processor time on either side) that gains nothing;
// larger: jobs with much output wait for the faster stream.
inline constexpr std::uint64_t kChangeBytes = std::uint64_t{64} * 1024;
inline constexpr std::uint32_t kChangeAgeMs = 1000;
// Ranks started between two turns of the loop: a start suspends the agent for about 0.3 ms.
inline constexpr int kStartBatch = 8;
// Ranks of one node from which on its limits are asked before the first is started (ten files of
// /proc, 0.1 ms).
inline constexpr std::uint64_t kManyRanks = 64;
// What the guardian allows ranks between SIGTERM and SIGKILL before the agent has told it.
inline constexpr std::uint32_t kDefaultGraceMs = 2000;
// How much longer than the grace an agent may take to end after its guardian got SIGTERM, or after
// its parent was gone. Smaller: a busy agent is cut off in the midst of its cleaning, which the
// guardian then does again; larger: a stuck one keeps its ranks longer.
inline constexpr std::uint32_t kAgentSlackMs = 3000;
// A process can start another between being found and being killed; so killing is repeated.
inline constexpr std::uint32_t kKillAgainMs = 20;
// Rounds of killing what is left below scela-run at its end; about two seconds.
inline constexpr int kRootSweeps = 100;
// Age from which what a job has left on a node is removed by the next one, if nobody holds it.
// Smaller than an agent takes on its way, or to hold its directory once it is made: those would go.
inline constexpr int kAbandonedS = 3600;
// Spans kept per agent, about 64 bytes each. Later ones are counted, not kept.
inline constexpr std::size_t kMaxSpans = 100'000;
// Entries of the record are written out when this much has come together.
inline constexpr std::size_t kRecordBlock = std::size_t{64} * 1024;

// How long a guardian may be stopped by somebody else. Longer: a node whose agent dies meanwhile is
// ended later.
inline constexpr std::uint32_t kStoppedGuardianMs = 1000;

}  // namespace scela::nla
