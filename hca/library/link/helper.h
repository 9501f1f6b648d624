// Moves parts of long messages that the engine offers (hca/core/model/copy_jobs.h), after a poll
// that found nothing. The bytes go straight between this process's memory and another's. EngineLink
// has one Helper. Any thread may call help(); one at a time moves a part.
//
// It uses process_vm_writev and process_vm_readv, so it works only if the kernel gives this process
// access to the other's memory. A pidfd proves that the other process's number is still its own.
// The pidfd is opened when that process's first part is offered, and used from the next offer on.
// Before each offer the engine has checked with its own pidfd that the other process lives. So both
// pidfds are of one process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "common/os/fd.h"
#include "hca/core/wire/layout.h"

namespace scela::hca::library {

class Helper {
 public:
  // Called only if the engine reaches this process's memory. `page` must outlive this object. If
  // the engine is in another PID namespace, help() does nothing.
  void begin(ProcessPage& page);

  // Called after a poll that found nothing. Returns true if one part was moved, or could not be
  // moved. `ended()` returns true if the engine has ended: the offers on the board are then void.
  template <class Ended>
  bool help(Ended ended) {
    if (page_ == nullptr) return false;
    CopyJobBoard& board = page_->board;
    if (board.willing.load(std::memory_order_relaxed) == 0)
      board.willing.store(1, std::memory_order_relaxed);
    return board.open.load(std::memory_order_acquire) != 0 && !ended() && take_one();
  }
  // Returns true if a part may be offered. A thread that is about to sleep checks this.
  bool is_wanted() const {
    return page_ != nullptr && page_->board.open.load(std::memory_order_seq_cst) != 0;
  }

 private:
  // Takes one part and moves it. Returns false if it took none: none was left, another thread moves
  // one, or this process is a child of the one that called begin().
  bool take_one();
  // Moves a part that was taken. Returns false if not all of it was moved; the engine then moves
  // it.
  bool move(const CopyJob& job);
  // Returns the pidfd of the other process, or null if it is not to be used in this offer. The two
  // processes meet only now, or no pidfd can be opened.
  const Fd* known(const CopyJob& job);

  struct Peer {
    Fd process;
    std::uint64_t met = 0;  // the offer in which they met
  };

  ProcessPage* page_ = nullptr;
  pid_t process_ = 0;  // its children have other memory
  std::atomic<bool> busy_{false};
  std::unordered_map<std::uint32_t, Peer> peers_;  // only for the thread that set `busy_`
};

}  // namespace scela::hca::library
