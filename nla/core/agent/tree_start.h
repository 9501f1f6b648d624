// The start of the tree below an agent: from the first message, which says what the agent's slice
// is, until every child is ready. The children themselves are in nla/core/tree/children.h. The
// agent's core uses this part, and one thread at a time calls it.
#pragma once

#include <string>

#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

// Bytes of output that the presenter at the root may hold at once, while a terminal or a disk is
// behind.
inline constexpr std::uint64_t kPresenterWindow = std::uint64_t{1024} * 1024;

class TreeStart {
 public:
  TreeStart(Context& context, Children& children, const JobEnd& job_end, OutputFlow& output)
      : context_(context), children_(children), job_end_(job_end), output_(output) {}

  // At the root: starts the tree.
  void on(const event::Begin& event);
  // Return false if the message breaks the protocol.
  bool from_parent(const msg::Start& message);
  bool from_parent(const msg::SliceHosts& message);
  bool from_child(Child& child, const msg::Hello& message);
  // The child is ready if this returns true.
  bool from_child(Child& child, const msg::Ready& message);

  // Timer::slow has fired.
  void slow_timer_fired();
  // The phase is `starting`. Reports once that the subtree is ready. Until then, keeps Timer::slow
  // running while only slow children are left.
  void advance();

 private:
  void start_or_cancel_slow_timer(bool slow);

  Context& context_;
  Children& children_;
  const JobEnd& job_end_;
  OutputFlow& output_;
  Topologies topologies_;  // told by the nodes below
  std::string names_;      // the slice's host names received so far
  bool slow_timer_runs_ = false;
};

}  // namespace scela::nla
