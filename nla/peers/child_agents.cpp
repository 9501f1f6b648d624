#include "nla/peers/child_agents.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/os/private_dir.h"

namespace scela::nla {

namespace {

// The time that an agent on a node that is said to be lost has to end itself. If it were shorter,
// an agent that lives would lose its link before its life. If it were longer, a dead one would be
// lost later.
constexpr std::chrono::milliseconds kLastWords{200};

}  // namespace

void ChildAgents::carry_out(const action::StartChild& start) {
  auto child = std::make_unique<ChildAgent>();
  child->link = std::make_unique<Link>(context_.buffer, start.link, listener_);
  child->link->set_reading(!context_.paused);
  Result<Contact> contact = parse_contact(start.host);
  // If the host list was cut or forged, there is no name and no address, so nothing is started.
  if (contact) child->contact = std::move(*contact);
  child->node = start.node;
  child->end = start.end;
  child->attach = start.attach;
  child->link->send_link_frame(encode(keys_.introduction({start.node, start.end})));
  if (child->may_change_link(context_.settings) && context_.settings.link == kLinkTcp) {
    child->link->hold();
  }
  child->asked_ns = context_.clock_ns();
  children_.push_back(std::move(child));  // links count from 1, in starting order
  // Not now: a start takes a while, and there are other children to start and links to serve.
  boost::asio::post(context_.io, [this, id = start.link] { this->start(id); });
}

void ChildAgents::start(LinkId id) {
  ChildAgent& child = at(id);
  if (!spawner_) spawner_ = make_spawner(context_.io, std::move(spawn_), context_.settings);
  if (child.given_up) {
    child.stage = ChildStage::started;
    child.closed = true;
    report_if_gone(id);
    return context_.pump();
  }
  const auto done = [this, id](tl::expected<StartedAgent, SpawnFailure> result) {
    started(id, std::move(result));
  };
  // Not now: the spawner is in the middle of a call.
  const auto begun = [this, id] {
    boost::asio::post(context_.io, [this, id] {
      context_.emit(event::ChildBegun{id});
      context_.pump();
    });
  };
  if (!child.attach) {
    const bool leaf = child.end - child.node == 1;
    return spawner_->start(child.contact, leaf, begun, done);
  }
  // A host that does not answer must leave its own children the time to be adopted.
  spawner_->attach(
      child.contact,
      {attach_words(context_.job_id, context_.settings.directory, context_.adopt_ms),
       context_.adopt_ms / 2,
       derive_link_key(keys_.keys().of(child.node), {context_.job_id, kAdopterNode, child.node})},
      done);
}

void ChildAgents::started(LinkId id, tl::expected<StartedAgent, SpawnFailure> result) {
  ChildAgent& child = at(id);
  child.stage = ChildStage::started;
  if (result) {
    child.session = result->pid;
    if (!result->ended) child.pid = result->pid;
    child.link->attach(std::move(result->stream));
    started_(id);
  } else {
    child.stage = ChildStage::gone;
    child.link->give_up();
    context_.emit(event::ChildFailed{id, result.error().phase, std::move(result.error().why),
                                     result.error().hand_back});
  }
  context_.pump();
}

void ChildAgents::carry_out(const action::CloseLink& close) {
  if (close.link == kParentLink || close.link > children_.size()) return;
  ChildAgent& child = at(close.link);
  child.given_up = true;
  await_end(child);
  child.link->give_up();
  if (child.stage == ChildStage::starting && spawner_ && !child.contact.here()) {
    spawner_->cancel(child.contact.name);
  }
  // If an agent does not read its link either, it is left to its guardian, even to one that was
  // stopped. If the guardian is dead, the agent is a child of this process. If the agent was
  // stopped, it reads its link once it is continued.
  if (child.pid == 0) {
    for (const pid_t pid : descendants_.orphaned_agents(kept_sessions()))
      ::kill(pid, SIGCONT);
    return;
  }
  ::kill(child.pid, SIGTERM);
  ::kill(child.pid, SIGCONT);
}

void ChildAgents::carry_out(const action::LoseChild& lost) {
  if (lost.link == kParentLink || lost.link > children_.size()) return;
  ChildAgent& child = at(lost.link);
  child.link->flush();
  child.last_words.emplace(context_.io);
  child.last_words->set(kLastWords, [this, id = lost.link] {
    if (!at(id).closed) lose(id, "its node is down");
    context_.pump();
  });
}

// The link is closed by force, since the process with the other end may never let go of it.
void ChildAgents::lose(LinkId id, std::string why) {
  ChildAgent& child = at(id);
  child.change.attempt.reset();
  child.link->close_now();
  link_ended(id, std::move(why));
  child.closed = true;
  if (child.pid != 0) ::kill(child.pid, SIGKILL);
  report_if_gone(id);
}

// The child's guardian cleans up silently, and may take longer than the silence of a lost agent.
void ChildAgents::await_end(ChildAgent& child) {
  child.heart.reset();
  const std::chrono::milliseconds period(context_.settings.heartbeat_ms);
  if (period.count() != 0) child.link->limit_silence(3 * period);
}

void ChildAgents::link_ended(LinkId id, std::string why) {
  ChildAgent& child = at(id);
  await_end(child);
  if (std::exchange(child.given_up, true)) return;
  context_.emit(event::LinkEnded{id, std::move(why)});
}

void ChildAgents::link_closed(LinkId id) {
  at(id).closed = true;
  report_if_gone(id);
}

void ChildAgents::report_if_gone(LinkId id) {
  ChildAgent& child = at(id);
  if (child.stage != ChildStage::started || child.pid != 0 || !child.closed) return;
  child.stage = ChildStage::gone;
  // The guardian did not end in peace, so the directory may still be there.
  if (child.status != 0 && child.contact.here()) {
    static_cast<void>(remove_tree(context_.directory_of(child.contact.name)));
  }
  context_.emit(event::ChildGone{id});
}

void ChildAgents::reaped(pid_t pid, int status) {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    ChildAgent& child = *children_[i];
    if (child.pid != pid) continue;
    child.pid = 0;
    child.status = status;
    return report_if_gone(static_cast<LinkId>(i + 1));
  }
  if (spawner_) spawner_->reaped(pid, status);
}

// While a guardian is stopped, no process ends its node if its agent dies. The guardian is not
// continued at once, since the process that has stopped it may be about to kill it.
void ChildAgents::stopped(pid_t pid) {
  for (const auto& one : children_) {
    if (one->pid != pid) continue;
    one->guardian_timer.emplace(context_.io);
    one->guardian_timer->set(std::chrono::milliseconds(kStoppedGuardianMs), [child = one.get()] {
      if (child->pid != 0) ::kill(child->pid, SIGCONT);
    });
  }
}

void ChildAgents::flush() {
  for (const auto& child : children_) {
    if (child->link->queued_bytes() > 0) child->link->flush();
  }
}

bool ChildAgents::full() const {
  return std::ranges::any_of(
      children_, [](const auto& child) { return child->link->queued_bytes() > kHighWater; });
}

bool ChildAgents::all_sent() const {
  return std::ranges::all_of(children_,
                             [](const auto& child) { return child->link->queued_bytes() == 0; });
}

void ChildAgents::follow_pause() {
  for (const auto& child : children_)
    child->link->set_reading(!context_.paused);
}

std::uint64_t ChildAgents::sent_bytes() const {
  std::uint64_t sent = 0;
  for (const auto& child : children_)
    sent += child->link->sent_bytes();
  return sent;
}

std::vector<pid_t> ChildAgents::kept_sessions() const {
  std::vector<pid_t> kept;
  if (spawner_) kept = spawner_->sessions();
  for (const auto& child : children_) {
    if (child->session != 0 && child->stage != ChildStage::gone) kept.push_back(child->session);
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace scela::nla
