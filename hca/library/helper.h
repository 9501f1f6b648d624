// Moves parts of long messages that the engine offers (hca/core/errands.h), when a poll has found
// nothing: straight between this process's memory and another's.
//
// By process_vm_writev and readv, so only where the kernel lets this process at the other. That the
// other's number is still its own says a descriptor of it, which is opened when the first part is
// offered and used from the next offer on: before it offers, the engine has seen that the other,
// which it knows by a descriptor as well, is there; so both are of one process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "common/os/fd.h"
#include "hca/core/layout.h"

namespace scela::hca::library {

class Helper {
 public:
  // Of a process whose memory the engine reaches.
  void begin(ProcessPage& page);

  // A poll has found nothing. True: one part was moved, or could not be. `ended()`: whether the
  // engine has; what stands there then is nobody's.
  template <class Ended>
  bool help(Ended ended) {
    if (page_ == nullptr) return false;
    ErrandBoard& board = page_->board;
    if (board.willing.load(std::memory_order_relaxed) == 0)
      board.willing.store(1, std::memory_order_relaxed);
    return board.open.load(std::memory_order_acquire) != 0 && !ended() && take_one();
  }
  // Whether there may be one: who is about to sleep looks.
  bool is_wanted() const {
    return page_ != nullptr && page_->board.open.load(std::memory_order_seq_cst) != 0;
  }

 private:
  bool take_one();
  bool move(const Errand& errand);
  const Fd* known(const Errand& errand);

  struct Peer {
    Fd process;
    std::uint64_t met = 0;  // in which offer
  };

  ProcessPage* page_ = nullptr;
  pid_t process_ = 0;  // a child of it has other memory
  std::atomic<bool> busy_{false};
  std::unordered_map<std::uint32_t, Peer> peers_;  // of whoever is busy
};

}  // namespace scela::hca::library
