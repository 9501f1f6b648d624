#include "comm-channel/shm/node_link.h"

#include <sched.h>

#include <utility>

#include "common/core/text.h"

namespace scela::channel::shm {

Result<std::unique_ptr<NodeLink>> NodeLink::join(std::shared_ptr<const Segment> segment,
                                                 std::uint32_t rank, SleepsBy sleeps_by) {
  auto room = segment->allocate(rank);
  if (!room) return fail(std::move(room.error()));
  std::unique_ptr<NodeLink> link(new NodeLink(std::move(segment), rank));
  if (sleeps_by == SleepsBy::pipe)
    if (auto made = link->wakers_.make_pipe(); !made) return fail(std::move(made.error()));
  link->membership_.join(link->system_.barrier().works());
  return link;
}

NodeLink::NodeLink(std::shared_ptr<const Segment> segment, std::uint32_t rank)
    : segment_(std::move(segment)),
      rank_(rank),
      processes_(segment_, rank),
      wakers_(*segment_, rank),
      deaths_(*segment_, rank, processes_, wakers_),
      system_(*segment_, rank, wakers_, deaths_),
      exchange_(segment_->shape(), rank, segment_->areas(), system_),
      sleep_(rank, exchange_, wakers_, deaths_),
      copies_(*segment_, rank, processes_),
      membership_(*segment_, rank) {}

void NodeLink::settle() {
  fences_ = false;
  for (std::uint32_t peer = 0; peer < ranks(); ++peer) {
    if (system_.barrier().works() && membership_.has_barrier(peer))
      exchange_.trust_barrier(peer);
    else
      fences_ = true;
  }
  if (!fences_) exchange_.trust_all_barriers();
  copies_.try_one();
  wait_as(membership_.is_crowded() ? Processors::shared : Processors::own);
}

std::uint64_t NodeLink::timed_yield() {
  const std::uint64_t before = monotonic_ns();
  ::sched_yield();
  return monotonic_ns() - before;
}

std::string NodeLink::describe() const {
  return cat(
      ranks(), ranks() == 1 ? " rank, " : " ranks, ",
      crowded() ? "fewer processors than ranks" : "a processor for each rank",
      copies_.work()
          ? std::string("; large messages by single copy")
          : cat("; large messages in fragments (no single copy: ", copies_.why_not().text(), ")"),
      fences_ ? "; senders execute fences (no membarrier)" : "");
}

}  // namespace scela::channel::shm
