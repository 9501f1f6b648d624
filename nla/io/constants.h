// The sizes and times of the shell of an agent: the code around the agent's state machine that
// makes system calls, in one event loop. Each comment gives the reason for the value, and the
// effect of a wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scela::nla {

// Bytes read from one link before other links get their turn. Smaller: more turns per megabyte;
// larger: one busy child delays the others.
inline constexpr std::size_t kLinkTurn = std::size_t{256} * 1024;
// Bytes of the one buffer that everything is read into; a pipe holds as many.
inline constexpr std::size_t kReadBuffer = std::size_t{64} * 1024;
// If more bytes than this are queued on a link, nothing more is read that could add to them.
// Smaller: links run dry; larger: more memory. It is a few dozen pieces.
inline constexpr std::size_t kHighWater = std::size_t{1024} * 1024;
// Parts passed to one writev; the kernel takes at most 1024.
inline constexpr int kWriteParts = 64;
// Heartbeat period that an agent assumes until its parent has told it one. It gives its parent up
// after three times this. Smaller: a slow start of a large tree ends itself; larger: agents stay
// longer if their scela-run has vanished meanwhile.
inline constexpr std::uint32_t kUnknownHeartbeatMs = 10'000;
// A link changes to TCP once it has carried this many bytes, or is this old. Smaller: commands that
// end in a moment pay for a handshake (1 ms of processor time on either side) that gains nothing;
// larger: jobs with much output wait for the faster stream.
inline constexpr std::uint64_t kChangeBytes = std::uint64_t{64} * 1024;
inline constexpr std::uint32_t kChangeAgeMs = 1000;
// Ranks started between two turns of the loop. Each start suspends the agent for about 0.3 ms.
inline constexpr int kStartBatch = 8;
// If a node gets at least this many ranks, its limits are read before the first is started. This
// reads ten files of /proc and takes 0.1 ms.
inline constexpr std::uint64_t kManyRanks = 64;
// The time that the guardian gives ranks between SIGTERM and SIGKILL before the agent has told it
// one.
inline constexpr std::uint32_t kDefaultGraceMs = 2000;
// The time beyond the grace that an agent may take to end after its guardian got SIGTERM, or after
// its parent was gone. Smaller: a busy agent is killed in the midst of its cleaning, which the
// guardian then does again; larger: a stuck agent keeps its ranks longer.
inline constexpr std::uint32_t kAgentSlackMs = 3000;
// A process can start another between being found and being killed, so killing is repeated after
// this time.
inline constexpr std::uint32_t kKillAgainMs = 20;
// Rounds in which scela-run kills the processes left below it at its end; about two seconds.
inline constexpr int kRootSweeps = 100;
// Age in seconds from which a later job removes what a job has left on a node, if no process holds
// it. Smaller than the time that an agent takes to start, or to lock its new directory: directories
// in use would be removed.
inline constexpr int kAbandonedS = 3600;
// Spans kept per agent, about 64 bytes each. Later spans are counted, not kept.
inline constexpr std::size_t kMaxSpans = 100'000;
// Bytes of the record that are collected before they are written.
inline constexpr std::size_t kRecordBlock = std::size_t{64} * 1024;

// How long a guardian may be stopped before its parent continues it. Longer: if its agent dies
// meanwhile, the node is ended later.
inline constexpr std::uint32_t kStoppedGuardianMs = 1000;

// How the text of a log record of Subsystem::launch begins that names the processes which a command
// has left on its host, before they are ended or as they are kept. scela-run folds such records.
inline constexpr std::string_view kEndedProcesses = "ended processes that were left running: ";
inline constexpr std::string_view kKeptProcesses = "left running: ";

}  // namespace scela::nla
