// Shared memory for the rings of send and receive queues.
//
// ObjectControl makes the rings of SRQs with it, QpControl those of queue pairs. The interpreter's
// one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/model/host.h"
#include "hca/core/model/objects.h"

namespace scela::hca {

// Allocates shared memory for at least `requests` entries of `stride` bytes, and fills in `ring`.
// Returns false if there is no memory left.
bool make_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
               std::uint32_t stride, Ring& ring);
// Allocates a ring of receive requests, each with room for `sges` buffers, but at least one.
bool make_receive_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
                       std::uint32_t sges, Ring& ring);

}  // namespace scela::hca
