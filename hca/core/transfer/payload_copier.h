// Copies the payload of messages to the buffers that requests name, which may have many pieces.
//
// Responders use it for what they receive, requesters for the data that they asked for. A strict
// engine (Settings::seed) writes the bytes in an order that no program may rely on. A transfer may
// hold the present step (hca/core/transfer/memory_transfers.h): it then returns `later`, and the
// caller repeats the call in a later turn. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "hca/core/queues/message_part.h"
#include "hca/core/transfer/memory_transfers.h"

namespace scela::hca {

// Copies between messages and buffers.
class PayloadCopier {
 public:
  // `seed` is Settings::seed. `memory` must live as long as this object.
  PayloadCopier(MemoryTransfers& memory, std::uint64_t seed) : memory_(memory), seed_(seed) {}

  // Copies the bytes of this part to `pieces` of the memory of `to`, starting `skip` bytes into
  // them. Returns `refused` if some memory does not exist or the pieces are too short, and `later`
  // if the step is held.
  Transfer deliver(const Incoming& incoming, ProcessId to, const std::vector<Piece>& pieces,
                   std::uint64_t skip);
  // Called after a transfer has failed, to find out which side is at fault. Returns `done` if all
  // of the part's payload, which lies in `incoming.pieces`, can be read, and `refused` if not.
  // Returns `later` if the step is held.
  Transfer is_readable(const Incoming& incoming);
  // Overwrites the first `bytes` of a buffer before a transfer fills it. A program that looks too
  // early then finds neither the old bytes nor the new ones. Only a strict engine does this.
  // Returns as deliver() does.
  Transfer spoil(ProcessId process, const std::vector<Piece>& pieces, std::uint64_t bytes);

 private:
  // Does what deliver() does, from the first byte to the last.
  Transfer deliver_in_order(const Incoming& incoming, ProcessId to,
                            const std::vector<Piece>& pieces, std::uint64_t skip);

  MemoryTransfers& memory_;
  std::uint64_t seed_;
};

}  // namespace scela::hca
