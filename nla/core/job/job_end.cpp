#include "nla/core/job/job_end.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace scela::nla {

namespace {

// An agent waits this much longer for each level of the tree, before it gives up children that must
// end. A healthy but overloaded node must not be given up.
constexpr std::uint32_t kSlackMs = 5000;

}  // namespace

void JobEnd::terminate(std::int32_t signo, std::uint32_t grace_ms) {
  if (context_.phase >= Phase::measuring) return;
  children_.stop_starting();
  children_.cancel_starts();
  children_.broadcast(msg::Terminate{signo, grace_ms});
  const bool again = terminating();
  if (!again) order_ = shutting_down() ? EndOrder::terminate_and_shut_down : EndOrder::terminate;
  context_.grace_ms = grace_ms;
  start_give_up_timer();
  if (grace_ms == 0) return processes_.kill();
  if (processes_.no_rank_left()) return;
  context_.act(action::SignalRanks{signo});
  if (!again) context_.act(action::SetTimer{Timer::grace, grace_ms});
}

void JobEnd::shut_down() {
  if (shutting_down()) return;
  order_shut_down();
  children_.stop_starting();
  children_.cancel_starts();
  children_.broadcast(msg::Shutdown{});
  start_give_up_timer();
}

void JobEnd::shut_down_child(Child& child) {
  if (shutting_down() || std::exchange(child.told_to_end, true)) return;
  context_.send(child.link, msg::Shutdown{});
}

void JobEnd::order_shut_down() {
  order_ = terminating() ? EndOrder::terminate_and_shut_down : EndOrder::shut_down;
}

void JobEnd::start_give_up_timer() {
  // The root's only child may answer for the same slice as the root does, and must be faster.
  const std::uint32_t levels =
      height(context_.slice, context_.degree) + (context_.is_root() ? 1 : 0);
  const std::uint64_t wait =
      std::uint64_t{2} * context_.grace_ms + kDrainMs + std::uint64_t{kSlackMs} * levels +
      (context_.adopts() ? context_.adopt_ms : 0);  // orphans may wait for an adopter
  context_.act(action::SetTimer{
      Timer::give_up, static_cast<std::uint32_t>(std::min<std::uint64_t>(wait, UINT32_MAX))});
}

void JobEnd::send_orders(LinkId child) {
  if (terminating()) context_.send(child, msg::Terminate{SIGTERM, context_.grace_ms});
  if (shutting_down()) context_.send(child, msg::Shutdown{});
}

}  // namespace scela::nla
