// Shared memory for the rings of send and receive queues.
//
// ObjectControl makes the rings of SRQs with it, QpControl those of queue pairs. The interpreter's
// one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/model/host.h"
#include "hca/core/model/objects.h"

namespace scela::hca {

// Allocates shared memory for at least `requests` entries of at least `stride` bytes, and fills in
// `ring`. The number of entries becomes a power of two, and the stride a multiple of 64. Returns
// false if there is no memory left.
bool make_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
               std::uint32_t stride, Ring& ring);
// Does so for receive requests, each with room for `sges` buffers (Sge), but at least one. Returns
// false if there is no memory left.
bool make_receive_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
                       std::uint32_t sges, Ring& ring);

}  // namespace scela::hca
