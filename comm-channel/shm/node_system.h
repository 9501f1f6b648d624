// The system functions that the exchange of messages on a node needs (rings/exchange.h has their
// contracts), and the Exchange with real atomics that uses them. NodeLink owns both.
//
// One thread at a time may call it.
#pragma once

#include <cstdint>

#include "comm-channel/shm/node_deaths.h"
#include "comm-channel/shm/rings/doorbell.h"
#include "comm-channel/shm/rings/exchange.h"
#include "comm-channel/shm/segment.h"
#include "comm-channel/shm/wakers.h"

namespace scela::channel::shm {

class NodeSystem {
 public:
  // All arguments must outlive this object; `self` is this rank.
  NodeSystem(const Segment& segment, std::uint32_t self, Wakers& wakers, NodeDeaths& deaths)
      : segment_(segment), self_(self), wakers_(wakers), deaths_(deaths) {}

  bool gone(std::uint32_t rank, std::uint32_t tries);
  void everybody_sees() const { barrier_.everybody_sees(); }
  void wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word) { wakers_.wake(rank, word); }
  bool make_box(std::uint32_t number);
  static void point() {}

  const Barrier& barrier() const { return barrier_; }
  // Returns how many bytes of shared memory this rank has allocated.
  std::uint64_t bytes() const;

 private:
  const Segment& segment_;
  const std::uint32_t self_;
  Wakers& wakers_;
  NodeDeaths& deaths_;
  const Barrier barrier_ = Barrier::make();
  std::uint32_t boxes_made_ = 0;
};

using NodeExchange = Exchange<SharedAtomic, NodeSystem>;

}  // namespace scela::channel::shm
