// Copies the payload of messages to the buffers that requests name, which may have many pieces.
//
// Responders use it for what they receive, requesters for the data that they asked for. A strict
// engine writes the bytes in an order that no program may rely on. The interpreter's one thread
// uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "hca/core/queues/message_part.h"
#include "hca/core/transfer/memory_transfers.h"

namespace scela::hca {

class PayloadCopier {
 public:
  // `seed` is Settings::seed. `memory` must live as long as this object.
  PayloadCopier(MemoryTransfers& memory, std::uint64_t seed) : memory_(memory), seed_(seed) {}

  // Copies the bytes of this part to `pieces`, starting `skip` bytes into them. Returns `refused`
  // if some memory does not exist any more, and `later` if the step is held.
  Transfer deliver(const Incoming& incoming, ProcessId to, const std::vector<Piece>& pieces,
                   std::uint64_t skip);
  // Called after a transfer has failed. Returns `done` if the payload in `pieces` can be read,
  // `refused` if it cannot, and `later` if the step is held.
  Transfer is_readable(const Incoming& incoming);
  // Overwrites the first `bytes` of a buffer before a transfer fills it, so that a program that
  // looks too early finds neither the old bytes nor the new ones. Only a strict engine does this.
  Transfer spoil(ProcessId process, const std::vector<Piece>& pieces, std::uint64_t bytes);

 private:
  Transfer deliver_in_order(const Incoming& incoming, ProcessId to,
                            const std::vector<Piece>& pieces, std::uint64_t skip);

  MemoryTransfers& memory_;
  std::uint64_t seed_;
};

}  // namespace scela::hca
