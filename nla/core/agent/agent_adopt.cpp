// Adoption: if an agent is lost while the ranks run and the job goes on (OnFailure::wait), its
// parent adopts the children of the lost agent. docs/design/protocol.md has the reasons.
#include <algorithm>
#include <csignal>

#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"

namespace scela::nla {

namespace {

// An agent knows at most this many sets of cut-off ranks for each node. Each node's agent may have
// been adopted for its own slice, and for a few others by adopters that could only guess the slice.
// If it were larger, a hostile child could take more memory. If it were smaller, a child would be
// lost after many losses.
constexpr std::size_t kIslandsPerNode = 4;

}  // namespace

// These functions run at the orphan.

// No agent can adopt the root's own children.
bool Agent::State::may_be_adopted() const {
  return context.adopts() && context.parent != kRootNode && phase == Phase::running &&
         !terminating && !shutdown && !guardian_lost && !context.parent_lost;
}

// The agent has lost its parent. What it would send up from now on is told once it has an adopter.
// This is also called if an adopter is lost before it has adopted this agent. The timer then runs
// on.
void Agent::State::orphaned() {
  seen.clear();
  if (!std::exchange(context.orphaned, true)) {
    context.act(action::SetTimer{Timer::adopt, context.adopt_ms});
    output.hold();
    collectives.cut_off();
    // These bytes are of a world that did not come whole. The adopter sends that world again.
    job_bytes.clear();
    cut_off(context.subtree_ranks, true);
  }
  context.act(action::AwaitAdoption{});
}

bool Agent::State::down(const msg::Adopt& message) {
  if (!context.orphaned || message.version != kProtocolVersion ||
      message.job_id != context.job_id) {
    return false;
  }
  // An adopter that has not heard which nodes were taken from this agent asks for more than it has.
  const Slice& own = context.slice;
  const Slice& asked = message.slice;
  if (asked.first != own.first || asked.end < own.end || asked.end > context.nodes) return false;
  const RankSet ranks = context.job->map.ranks_of(asked.first, asked.end);
  if (seen.size() + message.seen.size() > 2 * ranks.size()) return false;
  seen.insert(seen.end(), message.seen.begin(), message.seen.end());
  if (!message.last) return true;
  context.orphaned = false;
  context.adopted = true;
  context.parent = message.parent;
  context.act(action::CancelTimer{Timer::adopt});
  msg::Orphan self;
  self.slice = context.slice;
  self.agents = children.ready_agents() + 1;
  input.describe(self);
  self.worlds = static_cast<std::uint32_t>(context.job->worlds.size());
  context.send_up(self);
  told_again();
  output.go_on(message.output_window, std::exchange(seen, {}));
  return true;
}

// Tells the new parent all that was told to the lost parent and still matters. An agent that knows
// it already ignores it.
void Agent::State::told_again() {
  children.tell_below();
  if (launched_sent) tell_launched();
  spawns.tell_again();
  for (const msg::NodeFailed& failure : context.failed_running)
    context.send_up(failure);
  std::map<Rank, Outcome> failures = aborted;
  failures.insert(reported.begin(), reported.end());
  for (const auto& [outcome, ranks] : verdicts.groups()) {
    if (outcome.success() || outcome.ended_by_us) continue;
    ranks.for_each([&, &said = outcome](Rank rank) { failures.emplace(rank, said); });
  }
  for (const auto& [rank, outcome] : failures)
    context.send_up(msg::ProcessFail{rank, outcome});
  if (!verdicts.none()) send_verdicts();
  if (!lost_below.empty()) context.send_up(msg::NodesLost{lost_below});
  for (const RankSet& island : mailbox.islands()) {
    const bool here = context.subtree_ranks.contains_all(island);
    if (here && island != context.subtree_ranks) context.send_up(msg::CutOff{island});
  }
  bulletin.ask_again();
}

// These functions run at the adopter.

bool Agent::State::may_adopt_from(const Child& child) const {
  return context.adopts() && phase == Phase::running && child.state != ChildState::lost &&
         !terminating && !shutdown && !context.parent_lost;
}

void Agent::State::adopt(const Child& lost, std::vector<Child> orphans) {
  for (Child& one : orphans) {
    one.ended_ranks = verdicts.open(one.ranks).empty();
    const std::vector<msg::Seen> has = output.seen(one.ranks);
    const Child& orphan = children.adopt(std::move(one), has);
    input.adopt(lost, orphan);
    if (!mailbox.failed().empty()) {
      context.send(orphan.link, msg::PeersFailed{mailbox.failed()});
    }
    if (!context.lost_nodes.empty()) context.send(orphan.link, msg::NodesLost{context.lost_nodes});
    const RankSet ranks = orphan.ranks;
    cut_off(ranks);
    if (!context.is_root() && !ranks.empty()) context.send_up(msg::CutOff{ranks});
  }
}

bool Agent::State::up(Child& child, const msg::Orphan& message) {
  const Slice& slice = message.slice;
  if (child.state != ChildState::adopting || slice.first != child.slice.first ||
      slice.end <= slice.first || slice.end > child.slice.end || message.agents == 0 ||
      message.agents > slice.size() || message.worlds > context.job->worlds.size()) {
    return false;
  }
  const LinkId link = child.link;
  if (slice != child.slice) correct(child, slice);
  Child& orphan = *children.find(link);  // correct() may have moved it
  orphan.slice_guessed = false;
  orphan.state = ChildState::ready;
  orphan.agents = message.agents;
  input.resume(orphan, message);
  tell_window(orphan);
  spawns.send_worlds(orphan, message.worlds);
  return true;
}

// The child answers for a smaller slice than was assumed. The rest of that slice has other parents,
// or had: agents that were lost together with this child's parent. If the job is being ended, the
// orphans that are adopted here are told to end too.
void Agent::State::correct(Child& child, Slice slice) {
  RankSet ranks = child.ranks;
  std::vector<Child> orphans = children.corrected(child, slice);
  child.ended_ranks = verdicts.open(child.ranks).empty();
  ranks.remove(child.ranks);
  if (context.parent_lost) orphans.clear();
  for (const Child& orphan : orphans)
    ranks.remove(orphan.ranks);
  children.tell_below(orphans);
  lose(ranks, "its agent and those above it were lost");
  const std::size_t before = children.all().size();
  const Child known = child;  // adopt() may move `child`
  adopt(known, std::move(orphans));
  for (std::size_t i = before; i < children.all().size(); ++i) {
    const LinkId link = children.all()[i].link;
    if (terminating) context.send(link, msg::Terminate{SIGTERM, context.grace_ms});
    if (shutdown) context.send(link, msg::Shutdown{});
  }
}

bool Agent::State::up(Child& child, const msg::CutOff& message) {
  if (!may_be_island(child, message.ranks)) return false;
  // These ranks take part in no operation with ranks outside, and do not hear of one by themselves.
  child.some_ended = true;
  collectives.child_has_ended_ranks();
  if (context.is_root()) {
    cut_off(message.ranks);
  } else {
    mailbox.cut_off(message.ranks);
    context.send_up(message);
  }
  return true;
}

// Returns true if `ranks` can be cut off together: all ranks of consecutive nodes, because they are
// those of one agent's slice.
bool Agent::State::may_be_island(const Child& child, const RankSet& ranks) const {
  if (!context.adopts() || ranks.empty() || !child.ranks.contains_all(ranks)) return false;
  const RankMap& map = context.job->map;
  std::uint32_t first = UINT32_MAX, last = 0;
  ranks.for_each([&](Rank rank) {
    const std::uint32_t node = map.node_of(rank).value_or(0);
    first = std::min(first, node);
    last = std::max(last, node);
  });
  // The sender may not know the last worlds of the job yet.
  const RankSet all = map.ranks_of(first, last + 1).intersection(child.ranks);
  const RankSet fresh = all.minus(ranks);
  if (!fresh.empty()) {
    const std::size_t world = context.job->world_of(fresh.front());
    const Rank end = context.job->ranks_of_world(world).front();
    if (world == 0 || ranks != all.intersection(RankSet::run(0, end))) return false;
  }
  const std::vector<RankSet>& known = mailbox.islands();
  return known.size() < kIslandsPerNode * context.nodes ||
         std::find(known.begin(), known.end(), ranks) != known.end();
}

// Tells all agents below that `ranks` are cut off. A call at the root reaches every agent.
void Agent::State::cut_off(const RankSet& ranks, bool now) {
  if (now) name_table.cut_off();
  if (now) spawns.cut_off();
  mailbox.cut_off(ranks);
  children.broadcast(msg::CutOff{ranks, now});
  // Agents that serve ranks ask again. An orphan and the agents below it do so when the orphan is
  // adopted.
  if (now || ranks.empty() || context.own_ranks.empty()) return;
  context.act(action::Reconnected{ranks});
}

}  // namespace scela::nla
