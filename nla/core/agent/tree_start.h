// The start of the tree below an agent: from the first message, which says what the agent's slice
// is, until every child is ready. A slice is the range of nodes that an agent and those below it
// look after. The children themselves are in nla/core/tree/children.h. The agent's core uses this
// part, and one thread at a time calls it.
#pragma once

#include <string>

#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

// Bytes of output that the presenter (the part of scela-run that shows output) may hold at once,
// while a terminal or a disk is behind.
inline constexpr std::uint64_t kPresenterWindow = std::uint64_t{1024} * 1024;

class TreeStart {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  TreeStart(Context& context, Children& children, const JobEnd& job_end, OutputFlow& output)
      : context_(context), children_(children), job_end_(job_end), output_(output) {}

  // At the root, inside scela-run: starts the tree.
  void on(const event::Begin& event);
  // Takes the agent's identity and its slice, and answers with Hello. Returns false if the message
  // breaks the protocol.
  bool from_parent(const msg::Start& message);
  // Takes some hosts of the slice. With the last ones, starts the children. Returns false if the
  // message breaks the protocol.
  bool from_parent(const msg::SliceHosts& message);
  // Takes a child's first message: the child is up. Returns false if the message breaks the
  // protocol.
  bool from_child(Child& child, const msg::Hello& message);
  // Takes a child's report that its subtree is complete. Returns true if the child is ready now,
  // and false if the message breaks the protocol.
  bool from_child(Child& child, const msg::Ready& message);

  // Call it when Timer::slow has fired. Starts the nodes below children that are still slow.
  void slow_timer_fired();
  // Call it after each event while children are being started. Reports once that the subtree is
  // ready, and enters the phase `ready` unless the ranks run already. Until then, keeps Timer::slow
  // running while only slow children are left.
  void advance();
  // Returns true if advance() has reported that the subtree is ready.
  bool is_complete() const { return complete_; }

 private:
  // Starts Timer::slow if `slow` is true and it does not run. Cancels it if `slow` is false.
  void start_or_cancel_slow_timer(bool slow);
  // Returns true if `told`, from that child, is of nodes below it that are the child's to report.
  static bool is_below(const Child& child, const TopologyList& told);

  Context& context_;
  Children& children_;
  const JobEnd& job_end_;
  OutputFlow& output_;
  Topologies topologies_;  // reported by the nodes below
  Topologies rendezvous_;  // likewise
  std::string names_;      // the slice's host names received so far
  bool slow_timer_runs_ = false;
  bool complete_ = false;
};

}  // namespace scela::nla
