#include "nla/core/tree/agent.h"

#include <utility>

#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"

namespace scela::nla {

namespace {

// Passes the event on to the first of the parts that handles events of its kind. One of them must.
template <class E, class First, class... Rest>
void pass_event(const E& event, First& first, Rest&... rest) {
  if constexpr (requires { first.on(event); }) {
    first.on(event);
  } else {
    pass_event(event, rest...);
  }
}

// A part that handles messages of a kind. A kind that no part handles in either direction is a
// mistake in the name or the access of a function (receive_from_child).
template <class Part, class M>
concept HandlesFromParent = requires(Part& part, const M& message) {
  part.from_parent(message);
};
template <class Part, class M>
concept HandlesFromChild = requires(Part& part, Child& child, const M& message) {
  part.from_child(child, message);
};

// Pass the message on to the first of the parts that handles messages of its kind. Return false if
// none does, or if the message breaks the protocol.
template <class M, class First, class... Rest>
bool pass_from_parent(const M& message, First& first, Rest&... rest) {
  if constexpr (requires { first.from_parent(message); }) {
    return first.from_parent(message);
  } else if constexpr (sizeof...(rest) > 0) {
    return pass_from_parent(message, rest...);
  } else {
    return false;
  }
}
template <class M, class First, class... Rest>
bool pass_from_child(Child& child, const M& message, First& first, Rest&... rest) {
  if constexpr (requires { first.from_child(child, message); }) {
    return first.from_child(child, message);
  } else if constexpr (sizeof...(rest) > 0) {
    return pass_from_child(child, message, rest...);
  } else {
    return false;
  }
}

}  // namespace

Agent::Agent(Role role, cache::PolicyMaker make_policy)
    : state_(std::make_unique<State>(role, std::move(make_policy))) {}
Agent::~Agent() = default;
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;

void Agent::handle(const Event& event, Actions& out) {
  State& state = *state_;
  if (state.context.phase == Phase::finished) return;
  state.context.out = &out;
  state.dispatch(event);
  state.advance();
  state.context.out = nullptr;
}

bool Agent::finished() const {
  return state_->context.phase == Phase::finished;
}

std::uint64_t Agent::held_bytes() const {
  return state_->services.held_bytes() + state_->output.held_bytes() +
         state_->job_updates.held_bytes();
}

void Agent::reflect_cache_in(cache::Mirror* mirror) {
  if (cache::Policy* policy = state_->services.policy()) policy->table().reflect_in(mirror);
}

void Agent::for_each_cached(
    const std::function<void(std::string_view, std::string_view)>& each) const {
  if (cache::Policy* policy = state_->services.policy()) policy->table().for_each(each);
}

RankSet Agent::failed_ranks() const {
  return state_->services.failed();
}

std::uint64_t Agent::cache_bytes() const {
  return state_->services.cache_bytes();
}

std::string Agent::describe() const {
  std::string out = state_->summary();
  for (const Child& child : state_->children.all()) {
    out += cat("; child ", child.link, " on node ", child.slice.first, " ", name_of(child.state),
               child.gone ? " (process gone)" : "");
  }
  return out;
}

Agent::State::State(Role role, cache::PolicyMaker maker)
    : children(context),
      spawns(context, children),
      services(context, children, spawns, std::move(maker)),
      output(context),
      input(context, children),
      terminal(context, children),
      processes(context, verdicts, output),
      job_end(context, children, processes),
      failures(context, verdicts, job_end, services),
      verdict_reports(context, verdicts, services, input),
      launch_report(context, children, verdicts, processes, input),
      local_ranks(context, verdicts, processes, job_end, failures, services, spawns, input),
      log(context),
      inspections(context, children),
      tree_start(context, children, job_end, output),
      final_report(context, verdicts, job_end, services, output, inspections),
      lost_nodes(context, children, job_end),
      lost_children(context, children, verdicts, job_end, failures, lost_nodes, services, spawns,
                    output, input, terminal),
      job_updates(context, children, verdicts, job_end, local_ranks, failures, verdict_reports,
                  lost_children, lost_nodes, services, spawns),
      parent(context, children, job_end, processes, services, job_updates, output, input),
      held_requests(context) {
  context.role = role;
}

std::string Agent::State::summary() const {
  return cat(context.is_root() ? std::string("root") : cat("agent of node ", context.node),
             ": phase ", name_of(context.phase), job_end.terminating() ? ", ends the job" : "",
             context.parent_lost || context.orphaned ? ", without a parent" : "",
             ", ranks without a verdict: ", verdicts.open().text());
}

void Agent::State::dispatch(const Event& event) {
  std::visit(
      [&](const auto& one) {
        pass_event(one, *this, services, processes, local_ranks, lost_children, log, inspections,
                   final_report, terminal, tree_start, job_updates);
      },
      event);
}

void Agent::State::on(const event::Received& event) {
  if (event.link == kParentLink) {
    if (context.parent_lost) return;
    if (!receive_from_parent(event.message)) {
      violation(event.link, cat("unexpected message ", name_of(event.message)));
    }
    return;
  }
  Child* child = children.find(event.link);
  if (child == nullptr || !child->serving()) return;  // late: the child was given up
  if (held_requests.hold(event)) {
    if (held_requests.is_too_much(event.link)) violation(event.link, "too many requests at once");
    return;
  }
  if (!receive_from_child(*child, event.message)) {
    violation(event.link, cat("unexpected message ", name_of(event.message)));
  }
}

void Agent::State::on(const event::LinkEnded& event) {
  if (event.link == kParentLink) {
    parent.ended();
    return;
  }
  receive_held_ends(event.link);
  if (Child* child = children.find(event.link); child != nullptr && child->serving()) {
    lost_children.lost(*child, event.why.empty() ? std::string("its connection ended") : event.why);
  }
}

void Agent::State::on(const event::ChildGone& event) {
  receive_held_ends(event.link);
  lost_children.on(event);
}

void Agent::State::on(const event::TimerFired& event) {
  switch (event.timer) {
    case Timer::grace:
    case Timer::leftover:
      processes.force_end();
      break;
    case Timer::drain:
      processes.drain();
      break;
    case Timer::give_up:
      lost_children.give_up();
      break;
    case Timer::limit:
      if (context.phase == Phase::running && !job_end.ordered()) processes.limit_reached();
      break;
    case Timer::adopt:
      if (context.orphaned) parent.lost();
      break;
    case Timer::slow:
      tree_start.slow_timer_fired();
      break;
  }
}

void Agent::State::on(const event::Asked& event) {
  // The node's own messages in the name of a rank (service tags) may be sent after the rank has
  // ended.
  const auto* sent = std::get_if<ask::Send>(&event.request);
  const bool service = sent != nullptr && sent->tag >= kServiceTags;
  if (!context.own_ranks.contains(event.rank)) return;
  if (verdicts.has(event.rank) && !service) return;
  if (services.ask(event)) return;
  // If the guardian is lost, the ranks of this node are lost already, and their aborts and
  // violations change nothing.
  if (processes.guardian_lost()) return;
  if (const auto* abort = std::get_if<ask::Abort>(&event.request)) {
    failures.report(event.rank, Outcome{Ending::aborted, abort->code, false, false, abort->why});
  } else if (const auto* broken = std::get_if<ask::Violation>(&event.request)) {
    failures.report(event.rank, Outcome{Ending::violated, 0, false, false, broken->why});
  }
}

void Agent::State::on(const event::GuardianLost& event) {
  if (processes.guardian_lost() || context.phase >= Phase::measuring) return;
  // No other agent depends on this one yet, so its parent may hand its slice on.
  if (context.phase == Phase::waiting) {
    parent.lost();
    return;
  }
  processes.lose_guardian(event.was_told);
  if (context.orphaned) parent.lost();
  // A node that was told to end has no fault. Schedulers tell all nodes of a job.
  if (!event.was_told)
    report_node_failure(context, {context.node, StartPhase::running, "its guardian was killed"});
  const RankSet open = verdicts.open(context.own_ranks);
  if (!open.empty()) {
    failures.report(open.front(), processes.guardian_outcome());
    context.act(action::SignalRanks{15});
    context.act(action::SetTimer{Timer::grace, context.grace_ms});
  }
}

void Agent::State::on(const event::UserSignal& event) {
  if (context.phase != Phase::running) return;
  if (context.is_root())
    children.broadcast(msg::Signal{event.signo});
  else
    context.act(action::SignalRanks{event.signo});
}

void Agent::State::on(const event::Stop& event) {
  if (!context.is_root()) return;
  job_end.terminate(event.signo, event.grace_ms);
  if (!context.job) job_end.shut_down();
}

bool Agent::State::receive_from_parent(const Message& message) {
  if (context.orphaned && !std::holds_alternative<msg::Adopt>(message)) return false;
  return std::visit(
      [&](const auto& one) {
        return pass_from_parent(one, *this, services, tree_start, job_updates, lost_nodes,
                                inspections, lost_children);
      },
      message);
}

bool Agent::State::receive_from_child(Child& child, const Message& message) {
  if (child.state == ChildState::starting && !std::holds_alternative<msg::Hello>(message)) {
    return false;
  }
  if (child.state == ChildState::adopting && !std::holds_alternative<msg::Orphan>(message)) {
    return false;
  }
  return std::visit(
      [&](const auto& one) {
        using M = std::remove_cvref_t<decltype(one)>;
        static_assert(HandlesFromParent<State, M> || HandlesFromParent<RankServices, M> ||
                      HandlesFromParent<TreeStart, M> || HandlesFromParent<JobUpdates, M> ||
                      HandlesFromParent<LostNodes, M> || HandlesFromChild<State, M> ||
                      HandlesFromChild<RankServices, M> || HandlesFromChild<TreeStart, M> ||
                      HandlesFromChild<LaunchReport, M> || HandlesFromChild<VerdictReports, M> ||
                      HandlesFromChild<RankFailures, M> || HandlesFromChild<LogRelay, M> ||
                      HandlesFromChild<InspectionRelay, M> ||
                      HandlesFromParent<InspectionRelay, M> || HandlesFromParent<LostChildren, M> ||
                      HandlesFromChild<FinalReport, M> || HandlesFromChild<LostNodes, M> ||
                      HandlesFromChild<LostChildren, M>);
        return pass_from_child(child, one, *this, services, tree_start, launch_report,
                               verdict_reports, failures, log, inspections, final_report,
                               lost_nodes, lost_children);
      },
      message);
}

bool Agent::State::from_parent(const msg::Signal& message) {
  children.broadcast(message);
  context.act(action::SignalRanks{message.signo});
  return knows_itself();
}

bool Agent::State::from_parent(const msg::Terminate& message) {
  job_end.terminate(message.signo, message.grace_ms);
  return knows_itself();
}

bool Agent::State::from_parent(const msg::Shutdown& /*message*/) {
  job_end.shut_down();
  return knows_itself();
}

bool Agent::State::from_parent(const msg::Stdin& message) {
  input.receive(message);
  return context.job.has_value();
}

bool Agent::State::from_parent(const msg::Credit& message) {
  output.credit(message.bytes, message.past);
  return knows_itself();
}

bool Agent::State::from_parent(const msg::Adopt& message) {
  if (!parent.adopted_by(message)) return false;
  if (!message.last) return true;
  repeat_to_parent();
  output.go_on(message.output_window, parent.release_seen());
  return true;
}

bool Agent::State::from_parent(const msg::Resize& message) {
  return context.job ? terminal.resize(message.size) : job_end.shutting_down();
}

bool Agent::State::from_child(Child& child, const msg::Ready& message) {
  if (!tree_start.from_child(child, message)) return false;
  const bool was_late = child.late;
  job_updates.bring_up_to_date(child);
  if (was_late && !child.late) terminal.send_to(child);
  return true;
}

bool Agent::State::from_child(Child& child, const msg::NodeFailed& message) {
  if (!child.covers(message.node)) return false;
  report_node_failure(context, message);
  return true;
}

bool Agent::State::from_child(Child& child, const msg::Verdicts& message) {
  if (!verdict_reports.from_child(child, message)) return false;
  if (context.launched_early && child.ended_ranks) job_end.shut_down_child(child);
  return true;
}

bool Agent::State::from_child(Child& child, const msg::HandBack& message) {
  return children.receive(child, message);
}

bool Agent::State::from_child(Child& child, const msg::Below& message) {
  return children.receive(child, message);
}

bool Agent::State::from_child(Child& child, const msg::Output& message) {
  return child.ranks.contains(message.rank) && output.receive(child, message, child.window);
}

bool Agent::State::from_child(Child& child, const msg::StdinTaken& message) {
  input.receive(child.link, message);
  return true;
}

void Agent::State::violation(LinkId link, const std::string& why) {
  if (link == kParentLink) {
    // The parent has broken the protocol. The agent reports that, and ends as if the parent were
    // gone.
    log.send(
        {{LogLevel::error, Subsystem::tree, {}, "from the parent agent: " + why}, context.node});
    parent.lost();
    return;
  }
  receive_held_ends(link);
  context.act(action::CloseLink{link});
  if (Child* child = children.find(link); child != nullptr && child->serving()) {
    lost_children.lost(*child, "protocol error: " + why, Loss::given_up);
  }
}

void Agent::State::repeat_to_parent() {
  children.send_below();
  launch_report.repeat_to_parent();
  spawns.repeat_reports();
  for (const msg::NodeFailed& failure : context.failed_running)
    context.send_up(failure);
  failures.repeat_to_parent();
  if (!verdicts.none()) verdict_reports.send();
  lost_nodes.repeat_to_parent();
  services.repeat_to_parent();
}

void Agent::State::advance() {
  services.advance();
  const bool starts = context.phase == Phase::starting || context.launched_early;
  if (starts && !tree_start.is_complete()) tree_start.advance();
  if (context.phase == Phase::running) advance_running();
  if (job_end.shutting_down()) advance_end();
  if (context.phase == Phase::leaving && children.all_gone()) {
    context.act(action::CancelTimer{Timer::give_up});
    context.act(action::Finish{});
    context.phase = Phase::finished;
  }
}

void Agent::State::advance_running() {
  launch_report.advance();
  job_updates.advance();
  release_requests();
  spawns.advance(processes.started(), verdicts, job_end.ordered());
  if (verdict_reports.advance(launch_report.sent(), job_end.terminating())) job_end.shut_down();
}

void Agent::State::release_requests() {
  if (!held_requests.holds() || !(launch_report.sent() || job_end.ordered())) return;
  for (const event::Received& event : held_requests.release(!job_end.ordered()))
    on(event);
  services.advance();
}

void Agent::State::receive_held_ends(LinkId child) {
  for (const event::Received& event : held_requests.take_ends(child))
    on(event);
}

void Agent::State::advance_end() {
  if (context.phase >= Phase::measuring || !processes.end()) return;
  if (!output.empty() || !children.all_ended()) return;
  context.act(action::CancelTimer{Timer::drain});
  context.phase = Phase::measuring;
  output.forget();
  context.act(action::Finishing{});
}

}  // namespace scela::nla
