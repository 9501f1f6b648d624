// Which ranks of the node are known to have ended. All ranks share this knowledge in the node's
// memory. NodeLink owns one.
//
// One thread at a time may call it. Ranks are those of the node, from 0.
#pragma once

#include <cstdint>

#include "comm-channel/shm/processes.h"
#include "comm-channel/shm/segment.h"
#include "comm-channel/shm/wakers.h"

namespace scela::channel::shm {

class NodeDeaths {
 public:
  // All arguments must outlive this object; `self` is this rank.
  NodeDeaths(const Segment& segment, std::uint32_t self, Processes& processes, Wakers& wakers)
      : segment_(segment), self_(self), processes_(processes), wakers_(wakers) {}

  // Returns whether the rank is known to have ended. NodeLink::poll() still finds what it had sent;
  // once poll() finds nothing, nothing comes from it any more.
  bool is_known(std::uint32_t rank) const {
    return segment_.ended(rank).load(std::memory_order_acquire) != 0;
  }
  // Returns how many ranks are known to have ended; it grows if another rank has ended.
  std::uint32_t count() const { return segment_.deaths().load(std::memory_order_acquire); }

  // Asks the system about the rank, and returns whether it has ended. An end is recorded.
  bool find_out(std::uint32_t rank);
  // Asks the system about all ranks, and records those that have ended.
  void find_out();
  // Records that the rank has ended, and wakes all other ranks. The caller knows of the end.
  void record(std::uint32_t rank);

 private:
  const Segment& segment_;
  const std::uint32_t self_;
  Processes& processes_;
  Wakers& wakers_;
};

}  // namespace scela::channel::shm
