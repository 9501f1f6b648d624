#include "comm-channel/engine/pending_transfers.h"

namespace scela::channel {

void PendingTransfers::remove(Operation& operation) {
  table_.remove(operation.number);
  operation.number = 0;
  if (!table_.empty() || longest_copy_ == 0) return;
  longest_copy_ = 0;
  transports_.node()->expect_copy(0);
}

Operation* PendingTransfers::find(std::uint32_t number, int rank) const {
  Operation* const operation = table_.find(number);
  return operation != nullptr && operation->peer == rank ? operation : nullptr;
}

void PendingTransfers::expect_copy(std::uint64_t bytes) {
  if (bytes <= longest_copy_) return;
  longest_copy_ = bytes;
  transports_.node()->expect_copy(longest_copy_);
}

}  // namespace scela::channel
