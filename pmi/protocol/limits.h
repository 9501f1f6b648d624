// The sizes that a PMI client may rely on, and the bounds that keep a faulty client from using up
// the agent's memory. Sessions and client libraries use them.
//
// Constants only. All sizes are in bytes.
#pragma once

#include <cstddef>

namespace scela::pmi {

// The session tells these to the client by get_maxes and enforces them on put. Each counts the
// terminating zero of the client's C string. Hydra and Slurm both answer 256/64/1024. MPICH over
// UCX puts 488 hexadecimal digits per rank.
inline constexpr std::size_t kMaxKvsname = 256;
inline constexpr std::size_t kMaxKey = 64;
inline constexpr std::size_t kMaxValue = 1024;

// The length of a line without its newline. The longest correct put has about 1,400 bytes. The rest
// is for abort messages, for the argument lines of a spawn block, and for barriers of groups, which
// list their ranks: 9,000 of six digits. A smaller bound would fail programs that abort with a long
// message. A larger one only costs memory per faulty rank.
inline constexpr std::size_t kMaxLine = 64 * 1024;

// The number of bytes that may wait unserved while a request waits for its answer. Clients, or
// their threads, work in lock-step, so a client that reaches this bound does not read its answers.
inline constexpr std::size_t kMaxBacklog = 64 * 1024;

// For PMI-2. The first two are the lengths that pmi2.h promises its users, without the terminating
// zero (PMI2_MAX_KEYLEN and PMI2_MAX_VALLEN of Slurm and MPICH). The third is the largest message
// that their clients can send.
inline constexpr std::size_t kMaxPmi2Key = 64;
inline constexpr std::size_t kMaxPmi2Value = 1024;
inline constexpr std::size_t kMaxMessage = 64 * 1024;

// The number of requests of one rank that may wait for their answers at once. Each thread of the
// rank has at most one. A smaller bound makes the threads of larger programs wait for each other; a
// larger one costs more memory for a faulty program.
inline constexpr std::size_t kMaxInFlight = 256;

// The bound of all lines of one spawn request of PMI-1.
inline constexpr std::size_t kMaxSpawnBlock = 1024 * 1024;

// The largest spawn request that ScELA's client libraries send. It must fit into one message, also
// between agents.
inline constexpr std::size_t kMaxSpawnRequest = kMaxMessage - 512;

}  // namespace scela::pmi
