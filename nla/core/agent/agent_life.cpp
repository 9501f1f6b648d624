#include <algorithm>
#include <csignal>

#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"
#include "nla/core/wire/contact.h"

namespace scela::nla {

namespace {

// A pipe may stay open for this long after the last process of the node is gone. Only a process
// that is no descendant of this agent can hold it then.
constexpr std::uint32_t kDrainMs = 1000;
// A child may be silent for this long while all others are ready. This agent then starts the
// child's further nodes. If it were smaller, sessions that are under way anyway would gather at one
// agent. If it were larger, the nodes below a host that takes long to log in would wait longer.
constexpr std::uint32_t kSlowMs = 1000;
// An agent waits this much longer for each level of the tree, before it gives up children that must
// end. A healthy but overloaded node must not be given up.
constexpr std::uint32_t kSlackMs = 5000;
// After that, an agent waits for this long for what is left of the processes of children that it
// has given up. It is less than kSlackMs, so that an agent that waits both times is done before its
// own parent gives it up.
constexpr std::uint32_t kLastMs = 2000;

}  // namespace

void Agent::State::use_job(Job job) {
  context.grace_ms = job.grace_ms;
  context.own_ranks = context.is_root() ? RankSet() : job.map.ranks_of(context.node);
  context.subtree_ranks = job.map.ranks_of(context.slice.first, context.slice.end);
  context.handed_back.for_each(
      [&](std::uint32_t node) { context.subtree_ranks.remove(job.map.ranks_of(node)); });
  verdicts.expect(context.subtree_ranks);
  children.know_job(job.map);
  policy = make_policy(job.cache_policy,
                       {context.is_root(), job.cache_limit, context.own_ranks, job.map.size()});
  collectives.use(policy.get(), &bulletin);
  context.job = std::move(job);
  bulletin.use(policy.get());
  phase = Phase::running;
  if (!context.is_root()) context.act(action::UseJob{*context.job});

  // The ranks of nodes without an agent are lost, and so are those of children that were lost since
  // they were ready.
  for (const msg::NodeFailed& failure : children.failures()) {
    const bool looked_after = std::any_of(
        children.all().begin(), children.all().end(),
        [&](const Child& child) { return child.serving() && child.covers(failure.node); });
    const RankSet ranks = context.job->map.ranks_of(failure.node);
    if (looked_after || ranks.empty()) continue;
    const Outcome outcome{Ending::lost, 0, false, false, "its node has no agent: " + failure.why};
    verdicts.record(ranks, outcome);
    processes_lost(ranks, outcome);
  }
  for (Child& child : children.all()) {
    if (child.state == ChildState::lost) child_ended(child, "lost before the ranks were started");
    if (child.serving() && child.ranks.empty()) child.ended_ranks = true;
  }
  if (context.own_ranks.empty()) return;
  if (terminating || guardian_lost) {
    const Outcome cancelled{Ending::cancelled, 0, false, true, {}};
    ranks_over(context.own_ranks, guardian_lost ? guardian_outcome() : cancelled);
    return;
  }
  streams_open[0] = streams_open[1] = context.own_ranks;
  output.start_reading();
  context.act(action::StartRanks{context.own_ranks});
  if (context.job->host_timeout_ms > 0) {
    context.act(action::SetTimer{Timer::limit, context.job->host_timeout_ms});
  }
}

void Agent::State::rank_over(Rank rank, Outcome outcome) {
  if (!context.own_ranks.contains(rank) || verdicts.has(rank)) return;
  if (const auto at = aborted.find(rank); at != aborted.end()) outcome = at->second;
  ranks_over(RankSet::single(rank), outcome);
}

// All of `ranks` ended with the same outcome.
void Agent::State::ranks_over(const RankSet& ranks, const Outcome& outcome) {
  if (ranks.empty()) return;
  verdicts.record(ranks, outcome);
  if (!outcome.success() && !outcome.ended_by_us) processes_lost(ranks, outcome);
  collectives.ranks_ended(ranks);
  bulletin.ranks_ended(ranks);
  mailbox.ranks_ended(ranks);
  attributes.ranks_ended(ranks);
  name_table.ranks_ended(ranks);
  spawns.ranks_ended(ranks);
  input.ranks_closed(ranks);
}

// Sends PROCESS_FAIL (thesis section 2.2.1) at once to the launcher, which decides.
void Agent::State::process_fail(Rank rank, const Outcome& said) {
  const Outcome outcome = with_short_why(said);
  if (outcome.ends_job()) aborted.emplace(rank, outcome);
  if (context.is_root()) {
    first_failure(rank, outcome);
    return;
  }
  // Under kill the first report ends the job; an abort ends it under any policy.
  const bool needed = !failure_sent || outcome.ends_job() ||
                      (context.job && context.job->on_failure == OnFailure::wait);
  if (!needed) return;
  failure_sent = true;
  context.send_up(msg::ProcessFail{rank, outcome});
}

void Agent::State::lose(const RankSet& ranks, const std::string& why) {
  verdicts.open(ranks).for_each([&](Rank rank) {
    if (const auto at = reported.find(rank); at != reported.end()) {
      verdicts.record(RankSet::single(rank), at->second);
    }
  });
  const RankSet open = verdicts.open(ranks);
  if (open.empty()) return;
  const Outcome outcome{Ending::lost, 0, false, terminating, why};
  verdicts.record(open, outcome);
  if (!terminating) processes_lost(open, outcome);
}

// If the job is to end, one report is enough. If it goes on, peers must hear of every rank that
// they might wait for.
void Agent::State::processes_lost(const RankSet& ranks, const Outcome& outcome) {
  if (context.job->on_failure == OnFailure::kill || outcome.ends_job()) {
    process_fail(ranks.front(), outcome);
  } else {
    ranks.for_each([&](Rank rank) { process_fail(rank, outcome); });
  }
}

void Agent::State::first_failure(Rank rank, const Outcome& outcome) {
  if (terminating) return;
  if (!failure_sent) context.act(action::FirstFailure{rank, outcome});
  failure_sent = true;
  if (context.job->on_failure == OnFailure::kill || outcome.ends_job()) {
    terminate(SIGTERM, context.grace_ms);
  } else {
    children.broadcast(msg::PeersFailed{RankSet::single(rank)});
    mailbox.peers_failed(RankSet::single(rank));  // for those that are adopted later
    name_table.askers_failed(RankSet::single(rank));
    bulletin.fail_waiting("");  // PeersFailed tells the askers below
  }
}

void Agent::State::terminate(std::int32_t signo, std::uint32_t grace_ms) {
  if (phase >= Phase::measuring) return;
  children.stop_starting();
  children.cancel_starts();
  children.broadcast(msg::Terminate{signo, grace_ms});
  const bool again = std::exchange(terminating, true);
  context.grace_ms = grace_ms;
  context.act(action::SetTimer{Timer::give_up, give_up_ms()});
  if (grace_ms == 0) {
    if (!context.is_root() && !node_empty) {
      context.act(action::SignalRanks{SIGKILL});
      context.act(action::EndLeftovers{true});
    }
    return;
  }
  if (no_rank_left()) return;
  context.act(action::SignalRanks{signo});
  if (!again) context.act(action::SetTimer{Timer::grace, grace_ms});
}

// The timer fires twice. First the ranks get SIGTERM. After the grace, the agent ends what is left
// of them, including descendants that no rank answers for.
void Agent::State::limit_reached() {
  if (phase != Phase::running || shutdown || terminating) return;
  if (timed_out) {
    if (!node_empty) context.act(action::EndLeftovers{true});
    return;
  }
  if (no_rank_left()) return;
  timed_out = true;
  context.act(action::SignalRanks{SIGTERM});
  context.act(action::SetTimer{Timer::limit, context.grace_ms});
}

// Sends the size down the tree to the agent of the rank that has a terminal. Returns false if that
// rank is not below.
bool Agent::State::resize(const WindowSize& size) {
  if (!context.job->terminal_ranks.intersects(context.subtree_ranks)) return false;
  window = size;
  if (context.own_ranks.intersects(context.job->terminal_ranks)) {
    context.act(action::ResizeTerminal{size});
  }
  for (const Child& child : children.all())
    tell_window(child);
  return true;
}

void Agent::State::tell_window(const Child& child) {
  // A child that is to be adopted is told when it says that it was adopted.
  if (!window || !child.serving() || child.state == ChildState::adopting) return;
  if (!child.ranks.intersects(context.job->terminal_ranks)) return;
  context.send(child.link, msg::Resize{*window});
}

// Sends as many messages as it takes to keep each of them within a piece.
void Agent::State::send_verdicts() {
  constexpr std::size_t kRangeBytes = 10;  // two varints of a rank
  constexpr std::size_t kOutcomeBytes = 32;
  constexpr std::size_t kMax = kMaxPiece / 2;
  msg::Verdicts message;
  std::size_t size = 0;
  for (const auto& group : verdicts.groups()) {
    const Outcome& outcome = group.first;
    const RankSet& ranks = group.second;
    RankSet part;
    const auto close = [&] {
      if (!part.empty()) message.groups.emplace_back(outcome, std::exchange(part, {}));
    };
    size += kOutcomeBytes + outcome.why.size();
    for (const RankSet::Range& range : ranks.ranges()) {
      if (size > kMax) {
        close();
        context.send_up(std::exchange(message, {}));
        size = kOutcomeBytes + outcome.why.size();
      }
      part.add(RankSet::run(range.first, range.last - range.first + 1));
      size += kRangeBytes;
    }
    close();
  }
  context.send_up(std::move(message));
}

void Agent::State::shut_down() {
  if (shutdown) return;
  shutdown = true;
  children.stop_starting();
  children.cancel_starts();
  children.broadcast(msg::Shutdown{});
  context.act(action::SetTimer{Timer::give_up, give_up_ms()});
}

void Agent::State::parent_lost(const std::string&) {
  if (context.parent_lost) return;
  context.parent_lost = true;
  if (std::exchange(context.orphaned, false)) {
    context.act(action::AwaitAdoption{false});
    context.act(action::CancelTimer{Timer::adopt});
  }
  output.drop_all();
  if (phase == Phase::waiting) {
    shutdown = true;  // it has nothing to end yet
    return;
  }
  terminate(SIGTERM, context.grace_ms);
  shut_down();
}

// The nodes below a lost child are lost too, even those without ranks, unless they are adopted. The
// part that plans where ranks run must know. Returns all nodes that are lost.
RankSet Agent::State::out_of_reach(const Child& lost, const std::vector<Child>& orphans) {
  RankSet nodes = RankSet::run(lost.slice.first, lost.slice.size());
  nodes.remove(lost.handed_back);
  for (const Child& orphan : orphans)
    nodes.remove(RankSet::run(orphan.slice.first, orphan.slice.size()).minus(orphan.handed_back));
  const std::string why =
      cat("its parent agent on ", contact_name(context.host(lost.slice.first)), " was lost");
  nodes.for_each([&](std::uint32_t node) {
    if (node > lost.slice.first) report_node_failure(context, {node, StartPhase::running, why});
  });
  return nodes;
}

// Tells the root which nodes are lost, and the root tells every agent. The caller has told what is
// known of ranks there before.
void Agent::State::tell_lost(const RankSet& nodes) {
  const RankSet fresh = nodes.minus(lost_below);
  // If the job is being ended, failures are not told to the agents any more.
  if (fresh.empty() || !context.job || terminating) return;
  lost_below.add(fresh);
  if (context.is_root()) return nodes_lost(fresh);
  context.send_up(msg::NodesLost{fresh});
}

void Agent::State::nodes_lost(const RankSet& nodes) {
  context.lost_nodes.add(nodes);
  children.broadcast(msg::NodesLost{nodes});
  if (!context.own_ranks.empty()) context.act(action::NodesLost{nodes});
}

bool Agent::State::up(Child& child, const msg::NodesLost& message) {
  if (!context.job || !RankSet::run(child.slice.first, child.slice.size())
                           .minus(child.handed_back)
                           .contains_all(message.nodes)) {
    return false;
  }
  tell_lost(message.nodes);
  return true;
}

// A child's link is over before it said Done.
void Agent::State::child_ended(Child& child, const std::string& why, bool given_up) {
  const bool was_ready = child.state == ChildState::ready || child.state == ChildState::lost ||
                         child.state == ChildState::adopting;
  if (!was_ready) {
    children.failed(
        child, child.state == ChildState::starting ? StartPhase::start_agent : StartPhase::hello,
        why);
    return;
  }
  std::vector<Child> orphans;
  if (!given_up && may_adopt_from(child)) orphans = children.orphans_of(child);
  RankSet ranks = child.ranks;
  for (const Child& orphan : orphans)
    ranks.remove(orphan.ranks);
  const bool first_time = child.state != ChildState::lost;
  RankSet gone;  // nodes
  child.state = ChildState::lost;
  // This comes before any agent hears of the loss: what was given up here must not be adopted
  // above.
  if (context.adopts()) children.tell_below(orphans);
  if (first_time) {
    report_node_failure(context, {child.slice.first, StartPhase::running, why});
    if (!context.job || (!terminating && !shutdown)) gone = out_of_reach(child, orphans);
  }
  output.child_ended(child.link);
  bulletin.child_ended(child.link);
  lose(ranks,
       cat("the agent on ", contact_name(context.host(child.slice.first)), " was lost: ", why));
  tell_lost(gone);
  collectives.child_ended(child);
  child.ranks = ranks;
  if (!orphans.empty()) {
    const Child lost = child;  // adopt() may move `child`
    adopt(lost, std::move(orphans));
  }
  input.child_ended();
}

void Agent::State::violation(LinkId link, const std::string& why) {
  if (link == kParentLink) {
    // The parent has broken the protocol. The agent reports that, and ends as if the parent were
    // gone.
    tell({{LogLevel::error, Subsystem::tree, {}, "from the parent agent: " + why}, context.node});
    parent_lost(why);
    return;
  }
  context.act(action::CloseLink{link});
  if (Child* child = children.find(link); child != nullptr && child->serving()) {
    child_ended(*child, "protocol error: " + why, true);
  }
}

// If output waits for credit, the pipes are open for that reason only. If no output waits and none
// has come since the last check, a process that is no descendant of this agent holds a pipe.
void Agent::State::drain() {
  if (output.empty() && drained == output.read_bytes()) {
    context.act(action::DropStreams{});
    return;
  }
  drained = output.read_bytes();
  context.act(action::SetTimer{Timer::drain, kDrainMs});
}

void Agent::State::give_up() {
  if (!terminating && !output.empty()) {
    // The reader of the output is slow. Children that wait for credit are in good health.
    context.act(action::SetTimer{Timer::give_up, give_up_ms()});
    return;
  }
  for (std::size_t i = 0; i < children.all().size(); ++i) {
    Child& child = children.all()[i];
    if (child.serving()) {
      context.act(action::CloseLink{child.link});
      child_ended(child, "it did not end when told to", true);
    } else if (gave_up) {
      // Its process cannot be waited for any longer.
      child.gone = true;
    } else if (!child.gone) {
      context.act(action::CloseLink{child.link});
    }
  }
  gave_up = true;
  context.act(action::SetTimer{Timer::give_up, kLastMs});
}

std::uint32_t Agent::State::give_up_ms() const {
  // The root's only child may answer for the same slice as the root does, and must be faster.
  const std::uint32_t levels = height(context.slice, context.degree) + (context.is_root() ? 1 : 0);
  const std::uint64_t wait =
      std::uint64_t{2} * context.grace_ms + kDrainMs + std::uint64_t{kSlackMs} * levels +
      (context.adopts() ? context.adopt_ms : 0);  // orphans may wait for an adopter
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wait, UINT32_MAX));
}

void Agent::State::advance() {
  if (collectives.take_committed()) bulletin.fence_passed();
  if (phase == Phase::starting) advance_start();
  if (phase == Phase::running) {
    const bool children_launched =
        std::all_of(children.all().begin(), children.all().end(),
                    [](const Child& child) { return child.launched || !child.serving(); });
    if (!launched_sent && children_launched &&
        verdicts.open(first_ranks(context.own_ranks)).minus(started).empty()) {
      launched_sent = true;
      tell_launched();
    }
    if (!growing.empty()) advance_growth();
    spawns.advance(started, verdicts, terminating || shutdown);
    // The parent must know that there are ended ranks here (see Collectives); at most once a
    // subtree.
    if (!verdicts_begun && !terminating && !verdicts.none() && !verdicts.complete()) {
      verdicts_begun = true;
      if (!context.is_root()) send_verdicts();
    }
    if (!verdicts_sent && launched_sent && verdicts.complete()) {
      verdicts_sent = true;
      if (context.is_root()) {
        shut_down();
      } else {
        send_verdicts();
      }
    }
  }
  if (shutdown) advance_end();
  if (phase == Phase::leaving && children.all_gone()) {
    context.act(action::CancelTimer{Timer::give_up});
    context.act(action::Finish{});
    phase = Phase::finished;
  }
}

// Returns those of `ranks` that the job began with.
RankSet Agent::State::first_ranks(const RankSet& ranks) const {
  return context.job->worlds.empty() ? ranks : ranks.intersection(context.job->ranks_of_world(0));
}

void Agent::State::tell_launched() {
  const auto total = static_cast<std::uint32_t>(first_ranks(started).size()) + below_launched;
  if (context.is_root()) {
    context.act(action::AllLaunched{total});
    input.start();
  } else {
    context.send_up(msg::Launched{total});
  }
}

void Agent::State::advance_start() {
  if (!children.all_ready()) {
    const bool slow = children.only_slow_left();
    if (slow != std::exchange(slow_armed, slow)) {
      if (slow) {
        context.act(action::SetTimer{Timer::slow, kSlowMs});
      } else {
        context.act(action::CancelTimer{Timer::slow});
      }
    }
    return;
  }
  if (std::exchange(slow_armed, false)) context.act(action::CancelTimer{Timer::slow});
  phase = Phase::ready;
  if (shutdown) return;
  if (context.is_root()) {
    // The failures are counted, because what a child said when it became ready may be out of date.
    context.act(
        action::AllReady{context.nodes - static_cast<std::uint32_t>(context.failed_nodes.size()),
                         topologies.list()});
  } else {
    if (!children.all().empty()) children.tell_below();
    context.send_up(msg::Ready{children.ready_agents() + 1, topologies.list()});
  }
}

void Agent::State::advance_end() {
  if (phase >= Phase::measuring) return;
  if (!no_rank_left()) return;
  if (!leftovers_asked) {
    leftovers_asked = true;
    if (!context.is_root() && context.job && context.job->host_timeout_ms > 0) {
      context.act(action::CancelTimer{Timer::limit});
    }
    node_empty = context.is_root();
    context.act(action::CancelTimer{Timer::grace});
    if (!node_empty) {
      context.act(action::EndLeftovers{false});
      context.act(action::SetTimer{Timer::leftover, context.grace_ms});
    }
  }
  if (!node_empty) return;
  if (!node_empty_seen) {
    node_empty_seen = true;
    context.act(action::CancelTimer{Timer::leftover});
    if (!streams_open[0].empty() || !streams_open[1].empty()) {
      drained = output.read_bytes();
      context.act(action::SetTimer{Timer::drain, kDrainMs});
    }
  }
  if (!streams_open[0].empty() || !streams_open[1].empty()) return;
  if (!output.empty() || !children.all_ended()) return;
  context.act(action::CancelTimer{Timer::drain});
  phase = Phase::measuring;
  output.forget();
  context.act(action::Finishing{});
}

}  // namespace scela::nla
