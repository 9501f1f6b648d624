#include "nla/core/job/node_processes.h"

#include <csignal>

namespace scela::nla {

void NodeProcesses::on(const event::RankStreamEnded& event) {
  RankSet& open = streams_open_[static_cast<int>(event.stream)];
  if (!open.contains(event.rank)) return;
  open.remove(RankSet::single(event.rank));
  output_.local_end(event.rank, event.stream);
}

void NodeProcesses::on(const event::NodeEmpty& /*event*/) {
  if (end_ == NodeEnd::running) {
    end_ = NodeEnd::emptied_early;
  } else if (end_ == NodeEnd::asked) {
    end_ = NodeEnd::empty;
  }
}

void NodeProcesses::start(const RankSet& ranks, bool first) {
  streams_open_[0].add(ranks);
  streams_open_[1].add(ranks);
  if (first) output_.start_reading();
  context_.act(action::StartRanks{ranks});
}

void NodeProcesses::start_limit() {
  if (context_.job->host_timeout_ms > 0) {
    context_.act(action::SetTimer{Timer::limit, context_.job->host_timeout_ms});
  }
}

void NodeProcesses::not_started(const RankSet& ranks) {
  streams_open_[0].remove(ranks);
  streams_open_[1].remove(ranks);
}

void NodeProcesses::force_end() {
  if (!is_empty()) context_.act(action::EndLeftovers{true});
}

void NodeProcesses::kill() {
  if (context_.is_root() || is_empty()) return;
  context_.act(action::SignalRanks{SIGKILL});
  context_.act(action::EndLeftovers{true});
}

void NodeProcesses::limit_reached() {
  if (timed_out_) return force_end();
  if (no_rank_left()) return;
  timed_out_ = true;
  context_.act(action::SignalRanks{SIGTERM});
  context_.act(action::SetTimer{Timer::limit, context_.grace_ms});
}

// If output waits for credit, the pipes are open for that reason only. If no output waits and none
// has come since the last check, a process that is no descendant of this agent holds a pipe.
Outcome NodeProcesses::guardian_outcome() const {
  if (guardian_ == GuardianState::told_to_end) return {Ending::signaled, SIGTERM, false, false, ""};
  return {Ending::lost, 0, false, false, "the guardian of its agent was killed"};
}

void NodeProcesses::drain() {
  if (output_.empty() && drained_ == output_.read_bytes()) {
    context_.act(action::DropStreams{});
    return;
  }
  start_draining();
}

void NodeProcesses::start_draining() {
  drained_ = output_.read_bytes();
  context_.act(action::SetTimer{Timer::drain, kDrainMs});
}

bool NodeProcesses::end() {
  if (!no_rank_left()) return false;
  if (end_ < NodeEnd::asked) ask_to_end();
  if (end_ == NodeEnd::empty) {
    end_ = NodeEnd::draining;
    context_.act(action::CancelTimer{Timer::leftover});
    if (pipes_open()) start_draining();
  }
  return end_ == NodeEnd::draining && !pipes_open();
}

// The node is asked even if it was emptied before: ranks may have left processes since.
void NodeProcesses::ask_to_end() {
  if (!context_.is_root() && context_.job && context_.job->host_timeout_ms > 0) {
    context_.act(action::CancelTimer{Timer::limit});
  }
  end_ = context_.is_root() ? NodeEnd::empty : NodeEnd::asked;
  context_.act(action::CancelTimer{Timer::grace});
  if (context_.is_root()) return;
  context_.act(action::EndLeftovers{false});
  context_.act(action::SetTimer{Timer::leftover, context_.grace_ms});
}

}  // namespace scela::nla
