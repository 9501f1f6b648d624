// Moves parts of long messages that the engine offers (hca/core/model/copy_jobs.h), after a poll
// that found nothing. An offer is the parts of one message. The bytes go straight between this
// process's memory and another's. EngineLink has one Helper. Any thread may call help(); one at a
// time moves a part.
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
#include "hca/core/wire/shared_layout.h"

namespace scela::hca::library {

// The offers to this process, on the board of its page (CopyJobBoard).
class Helper {
 public:
  // Enables help(). Called only if the engine can access this process's memory. `page` must outlive
  // this object. If the engine is in another PID namespace, help() does nothing.
  void begin(ProcessPage& page);

  // Called after a poll that found nothing: moves one part, if one is on offer. Returns true if one
  // was moved, or could not be moved. `ended()` returns true if the engine has ended: the offers
  // are then void.
  template <class Ended>
  bool help(Ended ended) {
    if (page_ == nullptr) return false;
    CopyJobBoard& board = page_->board;
    if (board.willing.load(std::memory_order_relaxed) == 0)
      board.willing.store(1, std::memory_order_relaxed);
    return board.open.load(std::memory_order_acquire) != 0 && !ended() && take_one();
  }
  // Returns true if a part may be on offer. A thread that is about to sleep checks this.
  bool is_wanted() const {
    return page_ != nullptr && page_->board.open.load(std::memory_order_seq_cst) != 0;
  }

 private:
  // Takes one part and moves it. Returns true if it took one. Returns false if none was left, if
  // another thread moves one, or if this process is a child of the one that called begin().
  bool take_one();
  // Moves a part that was taken. Returns false if not all of it was moved; the engine then moves
  // it.
  bool move(const CopyJob& job);
  // Returns the pidfd of the other process, or null if the part must be refused. That is so if this
  // is the first offer with that process, or if no pidfd can be opened.
  const Fd* known(const CopyJob& job);

  // Another process that parts were offered for.
  struct Peer {
    Fd process;
    std::uint64_t met = 0;  // number of the first offer with it
  };

  ProcessPage* page_ = nullptr;
  // The process that called begin(): its children have other memory.
  pid_t process_ = 0;
  std::atomic<bool> busy_{false};
  std::unordered_map<std::uint32_t, Peer> peers_;  // only for the thread that set `busy_`
};

}  // namespace scela::hca::library
