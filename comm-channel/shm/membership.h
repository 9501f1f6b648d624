// A rank publishes facts about itself in the node's shared memory (Member in segment.h), and reads
// those of the others: that they have joined, and their processors. NodeLink owns one Membership.
//
// One thread at a time may call it. Ranks are those of the node, from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm-channel/shm/segment.h"

namespace scela::channel::shm {

class Membership {
 public:
  // The segment must outlive this object.
  Membership(const Segment& segment, std::uint32_t rank);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  // Marks the rank as left, so that no other rank reads its memory any more.
  ~Membership();

  // Publishes the process and the processors of this rank, and marks it as joined. `has_barrier`
  // says whether this rank's Barrier works (rings/doorbell.h).
  void join(bool has_barrier);

  // Returns whether the rank has joined with a Barrier that works.
  bool has_barrier(std::uint32_t rank) const;
  // Returns the processors on which the rank could run when it joined; empty if it has not joined.
  std::vector<int> processors_of(std::uint32_t rank) const;
  // Returns whether more ranks may run on this rank's processors than there are of these. A rank
  // that may run on several processors counts as a part of one on each.
  bool is_crowded() const;

 private:
  const Segment& segment_;
  const std::uint32_t rank_;
  // Other ranks read it (Member::probe) to find out whether they can read this process at all.
  const std::unique_ptr<const std::uint64_t> probe_;
};

}  // namespace scela::channel::shm
