#include "nla/core/tree/agent.h"

#include <utility>

#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"
#include "nla/core/wire/contact.h"
#include "nla/core/wire/pieces.h"

namespace scela::nla {

Agent::Agent(Role role, cache::PolicyMaker make_policy)
    : state_(std::make_unique<State>(role, std::move(make_policy))) {}
Agent::~Agent() = default;
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;

void Agent::handle(const Event& event, Actions& out) {
  State& state = *state_;
  if (state.phase == Phase::finished) return;
  state.context.out = &out;
  std::visit([&](const auto& one) { state.on(one); }, event);
  state.advance();
  state.context.out = nullptr;
}

bool Agent::finished() const {
  return state_->phase == Phase::finished;
}

std::uint64_t Agent::held_bytes() const {
  return state_->collectives.held_bytes() + state_->bulletin.held_bytes() +
         state_->mailbox.held_bytes() + state_->output.held_bytes() + state_->job_bytes.size();
}

void Agent::reflect_cache_in(cache::Mirror* mirror) {
  if (state_->policy) state_->policy->table().reflect_in(mirror);
}

void Agent::for_each_cached(
    const std::function<void(std::string_view, std::string_view)>& each) const {
  if (state_->policy) state_->policy->table().for_each(each);
}

RankSet Agent::failed_ranks() const {
  return state_->mailbox.failed();
}

std::uint64_t Agent::cache_bytes() const {
  return state_->policy ? state_->policy->usage().bytes : 0;
}

std::string Agent::describe() const {
  const State& s = *state_;
  std::string out = cat(s.context.is_root() ? std::string("root") : cat("agent ", s.context.node),
                        " ", name_of(s.phase), s.terminating ? " terminating" : "",
                        s.context.parent_lost || s.context.orphaned ? " orphaned" : "",
                        " open ranks ", s.verdicts.open().text());
  for (const Child& child : s.children.all()) {
    out += cat(" child", child.link, "@", child.slice.first, ":", static_cast<int>(child.state),
               child.gone ? " gone" : "");
  }
  return out;
}

Agent::State::State(Role role, cache::PolicyMaker maker)
    : children(context),
      collectives(context, children),
      bulletin(context, children),
      mailbox(context, children),
      attributes(context),
      name_table(context, children),
      spawns(context, children),
      output(context),
      input(context, children),
      make_policy(std::move(maker)) {
  context.role = role;
}

void Agent::State::on(const event::Begin& event) {
  if (!context.is_root() || phase != Phase::waiting) return;
  context.job_id = event.job_id;
  context.hosts = event.hosts;
  context.nodes = static_cast<std::uint32_t>(event.hosts.size());
  context.slice = {0, context.nodes};
  context.degree = event.degree;
  context.grace_ms = event.grace_ms;
  context.settings = event.settings;
  context.adopt_ms = event.adopt_ms;
  output.open(kPresenterWindow);
  phase = Phase::starting;
  children.start(context.slice);
}

void Agent::State::on(const event::Launch& event) {
  if (!context.is_root() || phase != Phase::ready || shutdown) return;
  const Chunk bytes(encode(event.job));
  use_job(event.job);
  for_each_piece(bytes, kMaxPiece, [&](const Chunk& piece, std::size_t, bool last) {
    children.broadcast(msg::JobBytes{last, piece});
  });
}

void Agent::State::on(const event::Received& event) {
  if (event.link == kParentLink) {
    if (context.parent_lost) return;
    if (!from_parent(event.message)) {
      violation(event.link, cat("unexpected message ", name_of(event.message)));
    }
    return;
  }
  Child* child = children.find(event.link);
  if (child == nullptr || !child->serving()) return;  // late: the child was given up
  if (!from_child(*child, event.message)) {
    violation(event.link, cat("unexpected message ", name_of(event.message)));
  }
}

void Agent::State::on(const event::LinkEnded& event) {
  if (event.link == kParentLink) {
    if (context.orphaned || may_be_adopted()) {
      orphaned();
    } else {
      parent_lost(event.why);
    }
  } else if (Child* child = children.find(event.link); child != nullptr && child->serving()) {
    child_ended(*child, event.why.empty() ? std::string("its connection ended") : event.why);
  }
}

void Agent::State::on(const event::ChildFailed& event) {
  Child* child = children.find(event.link);
  if (child == nullptr) return;
  child->gone = true;
  if (!child->serving()) return;
  if (child->state == ChildState::adopting) return child_ended(*child, event.why);
  if (event.hand_back && !context.is_root()) {
    children.hand_back(*child);
  } else {
    children.failed(*child, event.phase, event.why);
  }
}

void Agent::State::on(const event::ChildBegun& event) {
  if (Child* child = children.find(event.link)) child->begun = true;
}

void Agent::State::on(const event::ChildGone& event) {
  Child* child = children.find(event.link);
  if (child == nullptr) return;
  child->gone = true;
  if (child->serving()) child_ended(*child, "its process ended");
}

void Agent::State::on(const event::RankStarted& event) {
  started.add(event.rank);
}

void Agent::State::on(const event::RankNotStarted& event) {
  streams_open[0].remove(RankSet::single(event.rank));
  streams_open[1].remove(RankSet::single(event.rank));
  Outcome outcome;
  outcome.ending = Ending::not_started;
  outcome.code = event.error;
  outcome.why = event.why;
  // A user's signal that ends a rank before its turn is as much a failure as one that ends it
  // later.
  if (event.error == kCancelled) outcome = Outcome{Ending::cancelled, 0, false, terminating, {}};
  if (event.error == kCancelled && timed_out)
    outcome = Outcome{Ending::timed_out, 0, false, false, {}};
  if (guardian_lost) outcome = guardian_outcome();
  rank_over(event.rank, softened(event.rank, std::move(outcome)));
}

void Agent::State::on(const event::RanksRefused& event) {
  const RankSet ranks = verdicts.open(event.ranks.intersection(context.own_ranks));
  if (ranks.empty()) return;
  streams_open[0].remove(ranks);
  streams_open[1].remove(ranks);
  Outcome outcome{Ending::refused, event.error, false, false, event.why};
  if (guardian_lost) outcome = guardian_outcome();
  ranks_over(ranks, softened(ranks.front(), std::move(outcome)));
}

void Agent::State::on(const event::RankExited& event) {
  Outcome outcome = event.outcome;
  // A rank that ends after the time limit did not finish in time, even if it exits with 0.
  if (timed_out) {
    outcome = Outcome{Ending::timed_out, 0, false, false, {}};
  } else if (terminating) {
    outcome.ended_by_us = true;
  }
  if (guardian_lost) outcome = guardian_outcome();
  rank_over(event.rank, softened(event.rank, std::move(outcome)));
}

void Agent::State::on(const event::RankOutput& event) {
  output.local(event);
}

void Agent::State::on(const event::RankStreamEnded& event) {
  const RankSet one = RankSet::single(event.rank);
  RankSet& open = streams_open[static_cast<int>(event.stream)];
  if (!open.contains(event.rank)) return;
  open.remove(one);
  output.local_end(event.rank, event.stream);
}

void Agent::State::on(const event::NodeEmpty&) {
  node_empty = true;
}

void Agent::State::on(const event::TimerFired& event) {
  switch (event.timer) {
    case Timer::grace:
    case Timer::leftover:
      // If the end is forced, the shell repeats it until no process is left.
      if (!node_empty) context.act(action::EndLeftovers{true});
      break;
    case Timer::drain:
      drain();
      break;
    case Timer::give_up:
      give_up();
      break;
    case Timer::limit:
      limit_reached();
      break;
    case Timer::adopt:
      if (context.orphaned) parent_lost("nobody has adopted it");
      break;
    case Timer::slow:
      slow_armed = false;
      if (phase == Phase::starting && children.only_slow_left()) children.take_from_slow();
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
  std::visit(
      [&](const auto& ask) {
        using Ask = std::decay_t<decltype(ask)>;
        if constexpr (std::is_same_v<Ask, ask::Put> || std::is_same_v<Ask, ask::Get>) {
          bulletin.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Collective>) {
          collectives.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Send> || std::is_same_v<Ask, ask::Receive>) {
          mailbox.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::PutNode> ||
                             std::is_same_v<Ask, ask::GetNode>) {
          attributes.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Name>) {
          name_table.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Spawn>) {
          spawns.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Failed>) {
          tell_failed(event.rank, event.id);
        } else if (guardian_lost) {
          // The ranks of this node are lost already, and their aborts and violations change
          // nothing.
        } else if constexpr (std::is_same_v<Ask, ask::Abort>) {
          process_fail(event.rank, Outcome{Ending::aborted, ask.code, false, false, ask.why});
        } else {
          process_fail(event.rank, Outcome{Ending::violated, 0, false, false, ask.why});
        }
      },
      event.request);
}

void Agent::State::on(const event::GuardianLost&) {
  if (guardian_lost || phase >= Phase::measuring) return;
  // No other agent depends on this one yet, so its parent may hand its slice on.
  if (phase == Phase::waiting) {
    parent_lost("its guardian was killed");
    return;
  }
  guardian_lost = true;
  if (context.orphaned) parent_lost("its guardian was killed");
  report_node_failure(context, {context.node, StartPhase::running, "its guardian was killed"});
  const RankSet open = verdicts.open(context.own_ranks);
  if (!open.empty()) {
    process_fail(open.front(), guardian_outcome());
    context.act(action::SignalRanks{15});
    context.act(action::SetTimer{Timer::grace, context.grace_ms});
  }
}

void Agent::State::on(const event::StdinTaken& event) {
  input.local_taken(event.bytes);
}

void Agent::State::on(const event::StdinClosed& event) {
  input.ranks_closed(RankSet::single(event.rank));
}

void Agent::State::on(const event::PairUsed& event) {
  if (policy) policy->table().use(event.key);
}

void Agent::State::on(const event::SendTrace& event) {
  if (context.is_root()) {
    context.act(action::TracePiece{context.node, event.last, event.bytes});
  } else {
    context.send_up(msg::Report{context.node, event.last, event.bytes});
  }
}

void Agent::State::on(const event::Say& event) {
  if (context.is_root()) {
    context.act(action::ShowLog{event.record});
  } else {
    tell({event.record, context.node});
  }
}

// The sender of a log record is not trusted to name its node. It gives a number, which must belong
// to the link that the record came by. The root looks up the name of that node.
void Agent::State::tell(msg::Log said) {
  if (context.is_root()) {
    said.record.node = contact_name(context.host(said.node));
    context.act(action::ShowLog{std::move(said.record)});
  } else {
    said.record.node.clear();
    context.send_up(std::move(said));
  }
}

void Agent::State::on(const event::Measured& event) {
  if (phase != Phase::measuring) return;
  Stats all = below;
  all.agents += context.is_root() ? 0 : 1;
  all.messages += context.messages + (context.is_root() ? 0 : 1);  // counts the Done message too
  all.bytes += event.sent_bytes;
  all.output_bytes += output.read_bytes();
  if (!context.is_root()) {
    all.max_private_bytes = std::max(all.max_private_bytes, event.private_bytes);
    all.max_resident_bytes = std::max(all.max_resident_bytes, event.resident_bytes);
  }
  const std::uint64_t cached = policy ? policy->usage().bytes : 0;
  if (context.is_root()) {
    all.root_cache_bytes = cached;
  } else {
    all.cache_bytes = std::max(all.cache_bytes, cached);
  }
  if (context.is_root()) {
    context.act(action::JobEnded{verdicts.groups(), all});
  } else {
    context.send_up(msg::Done{all});
    context.done = true;
  }
  phase = Phase::leaving;
}

void Agent::State::on(const event::UserSignal& event) {
  if (phase == Phase::running) children.broadcast(msg::Signal{event.signo});
}

void Agent::State::on(const event::Stop& event) {
  if (!context.is_root()) return;
  terminate(event.signo, event.grace_ms);
  if (!context.job) shut_down();
}

void Agent::State::on(const event::StdinRead& event) {
  input.read(event);
}

void Agent::State::on(const event::OutputWritten& event) {
  output.credit(event.bytes, 0);
}

void Agent::State::on(const event::WindowChanged& event) {
  if (phase == Phase::running) resize(event.size);
}

}  // namespace scela::nla
