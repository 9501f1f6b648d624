// The operations of messages that go on without their requests. They are given back once they are
// complete. The messenger uses it (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <vector>

#include "comm-channel/engine/operation.h"

namespace scela::channel {

class DetachedOperations {
 public:
  void add(Operation& operation) { operations_.push_back(&operation); }
  bool empty() const { return operations_.empty(); }

  // Calls `release` for operations that are complete. Each call looks at few operations, so that
  // many of them do not slow the channel down.
  template <class Release>
  void release_some(const Release& release) {
    constexpr std::size_t kLooks = 16;
    for (std::size_t look = 0; look < kLooks && !operations_.empty(); ++look) {
      if (next_ >= operations_.size()) next_ = 0;
      Operation*& one = operations_[next_];
      if (!one->complete()) {
        ++next_;
        continue;
      }
      release(*one);
      one = operations_.back();
      operations_.pop_back();
    }
  }
  // Does so for all that are complete.
  template <class Release>
  void release_all(const Release& release) {
    std::erase_if(operations_, [&](Operation* const one) {
      if (!one->complete()) return false;
      release(*one);
      return true;
    });
  }

 private:
  std::vector<Operation*> operations_;
  std::size_t next_ = 0;  // where the next call goes on
};

}  // namespace scela::channel
