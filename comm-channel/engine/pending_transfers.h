// The operations that have a number on the wire, because the other side answers or must do
// something. The parts of the messenger that start and end them use it
// (comm-channel/messenger/transfers.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm-channel/core/protocol/request_table.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/transports.h"

namespace scela::channel {

class PendingTransfers {
 public:
  // `transports` must outlive this object.
  explicit PendingTransfers(const Transports& transports) : transports_(transports) {}

  // Gives the operation a number, and returns it. Returns 0 if too many operations have one.
  std::uint32_t add(Operation& operation) {
    operation.number = table_.add(operation);
    return operation.number;
  }
  // Takes the number from the operation, which must have one.
  void remove(Operation& operation);
  // Returns the operation with this number of this side, or null if there is none.
  Operation* find(std::uint32_t number) const { return table_.find(number); }
  // Returns null also if the operation is not one with that rank: a peer's number is not believed.
  Operation* find(std::uint32_t number, int rank) const;
  // Returns all operations, in any order.
  std::vector<Operation*> all() const { return table_.all(); }

  // Notes that another rank of the node is about to copy so many bytes of a send that has a number.
  // While it copies, this process waits longer before it sleeps.
  void expect_copy(std::uint64_t bytes);

 private:
  const Transports& transports_;
  RequestTable<Operation> table_;
  std::uint64_t longest_copy_ = 0;  // bytes; since none was pending
};

}  // namespace scela::channel
