// Copies of large messages straight from the memory of another rank of the node into this one's.
// The system may forbid them; then such messages go in pieces through shared memory. NodeLink owns
// one.
//
// One thread at a time may call it. Ranks are those of the node, from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/shm/processes.h"
#include "comm-channel/shm/segment.h"
#include "common/core/result.h"

namespace scela::channel::shm {

class DirectCopies {
 public:
  // All arguments must outlive this object; `self` is this rank.
  DirectCopies(const Segment& segment, std::uint32_t self, Processes& processes)
      : segment_(segment), self_(self), processes_(processes) {}

  // Tries a copy from another rank. It is called once, when all ranks of the node have joined.
  void try_one();
  // Returns whether this rank can copy from the others. Returns false before try_one().
  bool work() const { return state_ == State::work; }
  // Returns the reason, for the user, if work() is false after try_one().
  const Error& why_not() const { return why_not_; }
  // Returns whether this rank is to tell the user that large messages are not copied. It is true
  // for the first rank of the node that asks.
  bool is_to_say_why_not() const { return !work() && (segment_.said().fetch_or(1) & 1) == 0; }
  // Copies `to.size()` bytes from that address of the rank's memory.
  Copied read_from(std::uint32_t rank, std::uint64_t address, std::span<std::byte> to) {
    return processes_.read(rank, address, to);
  }

 private:
  // `untried`: before try_one(). `work`: a copy has succeeded, or there was no rank to copy from.
  // `refused`: it has failed for why_not_.
  enum class State : unsigned char { untried, work, refused };

  const Segment& segment_;
  const std::uint32_t self_;
  Processes& processes_;
  State state_ = State::untried;
  Error why_not_;
};

}  // namespace scela::channel::shm
