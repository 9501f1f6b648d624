// The sizes a PMI client may rely on, and the bounds that keep a wrong client from growing the
// agent.
//
// Constants only.
#pragma once

#include <cstddef>

namespace scela::pmi {

// Told to the client by get_maxes and enforced on put. Each counts the terminating zero of the
// client's C string. Hydra and Slurm both answer 256/64/1024; MPICH over UCX puts 488 hexadecimal
// digits a rank.
inline constexpr std::size_t kMaxKvsname = 256;
inline constexpr std::size_t kMaxKey = 64;
inline constexpr std::size_t kMaxValue = 1024;

// One line without its newline. The longest honest put is about 1,400 bytes; the rest is for abort
// messages, for the argument lines of a spawn block and for barriers of groups, which list their
// ranks: 9,000 of six digits. A smaller bound would end jobs whose programs abort with a long
// message; a larger one only costs memory per misbehaving rank.
inline constexpr std::size_t kMaxLine = 64 * 1024;

// Bytes that may lie unserved while one request waits for its answer. Clients, or their threads,
// work in lock-step, so one that reaches this does not read its answers.
inline constexpr std::size_t kMaxBacklog = 64 * 1024;

// PMI-2: what pmi2.h promises its users, the terminating zero not counted (PMI2_MAX_KEYLEN and
// PMI2_MAX_VALLEN of Slurm's and MPICH's), and what their clients can send at most.
inline constexpr std::size_t kMaxPmi2Key = 64;
inline constexpr std::size_t kMaxPmi2Value = 1024;
inline constexpr std::size_t kMaxMessage = 64 * 1024;

// Requests of one rank that may wait for their answers at once: a thread of the rank has one.
// Smaller: programs with more threads wait for each other; larger: more memory for a wrong one.
inline constexpr std::size_t kMaxInFlight = 256;

// All lines of one spawn request.
inline constexpr std::size_t kMaxSpawnBlock = 1024 * 1024;

// What this project's client libraries send of one at most: it has to fit one message, between
// agents too.
inline constexpr std::size_t kMaxSpawnRequest = kMaxMessage - 512;

}  // namespace scela::pmi
