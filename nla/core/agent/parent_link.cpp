#include "nla/core/agent/parent_link.h"

#include <csignal>
#include <utility>

namespace scela::nla {

void ParentLink::ended() {
  if (context_.orphaned || may_be_adopted()) {
    wait_for_adopter();
  } else {
    lost();
  }
}

void ParentLink::lost() {
  if (context_.parent_lost) return;
  context_.parent_lost = true;
  if (std::exchange(context_.orphaned, false)) {
    context_.act(action::AwaitAdoption{false});
    context_.act(action::CancelTimer{Timer::adopt});
  }
  output_.drop_all();
  if (context_.phase == Phase::waiting) return job_end_.shut_down_alone();
  job_end_.terminate(SIGTERM, context_.grace_ms);
  job_end_.shut_down();
}

// No agent can adopt the root's own children.
bool ParentLink::may_be_adopted() const {
  return context_.adopts() && context_.parent != kRootNode && context_.phase == Phase::running &&
         !job_end_.ordered() && !processes_.guardian_lost() && !context_.parent_lost;
}

// The agent sends nothing up from now on. It makes up for that once it has an adopter. This is also
// called if an adopter is lost before it has adopted this agent. The timer then runs on.
void ParentLink::wait_for_adopter() {
  seen_.clear();
  if (!std::exchange(context_.orphaned, true)) {
    context_.act(action::SetTimer{Timer::adopt, context_.adopt_ms});
    output_.hold();
    updates_.drop_partial();
    services_.orphaned();
  }
  context_.act(action::AwaitAdoption{});
}

bool ParentLink::adopted_by(const msg::Adopt& message) {
  if (!context_.orphaned || message.version != kProtocolVersion ||
      message.job_id != context_.job_id) {
    return false;
  }
  // An adopter that has not heard which nodes were taken from this agent asks for more than it has.
  const Slice& own = context_.slice;
  const Slice& asked = message.slice;
  if (asked.first != own.first || asked.end < own.end || asked.end > context_.nodes) return false;
  const RankSet ranks = context_.job->map.ranks_of(asked.first, asked.end);
  if (seen_.size() + message.seen.size() > 2 * ranks.size()) return false;
  seen_.insert(seen_.end(), message.seen.begin(), message.seen.end());
  if (!message.last) return true;
  context_.orphaned = false;
  context_.adopted = true;
  context_.parent = message.parent;
  context_.act(action::CancelTimer{Timer::adopt});
  msg::Orphan self;
  self.slice = context_.slice;
  self.agents = children_.ready_agents() + 1;
  input_.describe(self);
  self.worlds = static_cast<std::uint32_t>(context_.job->worlds.size());
  context_.send_up(self);
  return true;
}

}  // namespace scela::nla
