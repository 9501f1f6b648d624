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
// messages and for the argument lines of a spawn block. A smaller bound would end jobs whose
// programs abort with a long message; a larger one only costs memory per misbehaving rank.
inline constexpr std::size_t kMaxLine = 8192;

// Bytes that may lie unserved while one request waits for its answer. PMI-1 clients work in
// lock-step, so a client that reaches this does not read its answers.
inline constexpr std::size_t kMaxBacklog = 64 * 1024;

// All lines of one spawn request.
inline constexpr std::size_t kMaxSpawnBlock = 1024 * 1024;

}  // namespace scela::pmi
