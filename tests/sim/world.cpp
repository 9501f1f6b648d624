#include "tests/sim/world.h"

#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/payload.h"

namespace scela::sim {

using nla::Event;
namespace event = nla::event;

World::World(const Schedule& schedule, Hooks hooks)
    : schedule_(schedule),
      hooks_(std::move(hooks)),
      random_(schedule.delay_seed),
      network_(schedule_, tasks_, random_, now_),
      reference_(schedule_),
      ranks_(schedule.all_ranks()),
      hosts_now_(schedule.hosts) {
  Node& root = nodes_.emplace_back();
  root.agent = std::make_unique<nla::Agent>(nla::Role::root);
  tasks_.add(0, TaskKind::begin);
  for (std::uint32_t i = 0; i < schedule_.faults.size(); ++i) {
    if (!schedule_.faults[i].after_launch) tasks_.add(schedule_.faults[i].at, TaskKind::fault, i);
  }
  for (std::uint32_t i = 0; i < schedule_.stimuli.size(); ++i) {
    if (!schedule_.stimuli[i].after_launch) tasks_.add(schedule_.stimuli[i].at, TaskKind::user, i);
  }
  for (const Window& one : schedule_.windows) {
    if (!one.after_launch) tasks_.add(one.at, TaskKind::window);
  }
  tasks_.add(kTimeout, TaskKind::timeout);
}

World::~World() = default;

RunResult World::run() {
  while (!tasks_.empty() && result_.ok()) {
    const Task task = tasks_.take();
    now_ = task.at;
    ++result_.events;
    note(task.at, static_cast<std::uint64_t>(task.kind), mix(task.a, task.b, task.c));
    step(task);
  }
  if (result_.ok()) check_quiet();
  result_.messages = network_.messages();
  return result_;
}

void World::note(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  result_.hash = mix(result_.hash ^ a, b, c);
}

void World::fail(const std::string& what) {
  if (!result_.failure.empty()) return;
  result_.failure = cat("at ", now_, " us: ", what);
}

std::string World::name(std::uint32_t node) const {
  const Node& n = nodes_[node];
  return node == 0 ? std::string("the root") : cat("agent ", node, " on host ", n.host);
}

void World::step(const Task& task) {
  switch (task.kind) {
    case TaskKind::deliver:
      return deliver(task.a, task.b != 0);
    case TaskKind::end_seen: {
      Link& link = network_.at(task.a);
      link.end_told[task.b] = true;
      if (task.b != 0) return give(link.child, event::LinkEnded{nla::kParentLink, "it broke"});
      return give(link.parent, event::LinkEnded{link.parent_link, "it broke"});
    }
    case TaskKind::child_begun: {
      Link& link = network_.at(task.a);
      link.begun = true;
      return give(link.parent, event::ChildBegun{link.parent_link});
    }
    case TaskKind::start_agent:
      return start_agent(task.a);
    case TaskKind::attach:
      return attach(task.a, task.c);
    case TaskKind::child_failed: {
      const Link& link = network_.at(task.a);
      return give(link.parent,
                  event::ChildFailed{link.parent_link, static_cast<nla::StartPhase>(task.b),
                                     "planned", task.c != 0});
    }
    case TaskKind::child_gone: {
      const Link& link = network_.at(task.a);
      give(link.parent, event::ChildGone{link.parent_link});
      return check_gone(link.parent);
    }
    case TaskKind::kill_agent:
      return agent_dies(task.a, false);
    case TaskKind::reap:
      return reap(task.a, task.c != 0);
    case TaskKind::timer: {
      TimerModel& timer = nodes_[task.a].timers[task.b];
      if (!timer.armed || timer.generation != task.c) return;
      timer.armed = false;
      const auto which = static_cast<nla::Timer>(task.b);
      if (which == nla::Timer::give_up && nodes_[task.a].state == State::running) {
        gave_up_ = true;
        // Everything here ends in time if it is told to; only a start may take longer.
        const bool slow =
            std::any_of(schedule_.starts.begin(), schedule_.starts.end(),
                        [](const HostStart& start) { return start.delay >= kPatience; });
        if (!slow)
          return fail(name(task.a) + " had to give up a child that nothing had happened to");
      }
      return give(task.a, event::TimerFired{which});
    }
    case TaskKind::leftover_end:
      return leftover_end(task.a, task.b);
    case TaskKind::empty: {
      nodes_[task.a].empty_scheduled = false;
      if (!nodes_[task.a].empty_asked) return;
      nodes_[task.a].empty_asked = false;
      return give(task.a, event::NodeEmpty{});
    }
    default:
      break;
  }
  if (task.kind >= TaskKind::rank_start && task.kind <= TaskKind::stdin_taken)
    return step_rank(task);
  step_launcher(task);
}

void World::step_rank(const Task& task) {
  switch (task.kind) {
    case TaskKind::rank_start:
      return rank_start(task.a);
    case TaskKind::rank_step:
      ranks_[task.a].stepping = false;
      return rank_step(task.a);
    case TaskKind::rank_exit:
      return rank_exit(task.a);
    case TaskKind::rank_reply:
      return rank_reply(task.a, task.c);
    case TaskKind::pump:
      return pump(task.a);
    case TaskKind::stdin_taken:
      return stdin_taken(task.a);
    case TaskKind::measure: {
      if (schedule_.trace) {
        for (std::uint64_t piece = random_.below(3) + 1; piece > 0; --piece) {
          give(task.a, event::SendTrace{piece == 1, payload(task.a, 1 + random_.below(5000))});
        }
      }
      return give(task.a, event::Measured{0, 1000 + task.a, 2000});
    }
    default:
      return;
  }
}

void World::step_launcher(const Task& task) {
  switch (task.kind) {
    case TaskKind::begin:
      return begin();
    case TaskKind::decide:
      return decide();
    case TaskKind::plan:
      return plan_spawn();
    case TaskKind::stdin_more:
      input_scheduled_ = false;
      return stdin_more();
    case TaskKind::shown:
      unshown_ -= task.c;
      return give(0, event::OutputWritten{task.c});
    case TaskKind::fault:
      return fault(schedule_.faults[task.a]);
    case TaskKind::user:
      return user(schedule_.stimuli[task.a]);
    case TaskKind::window:
      return window();
    case TaskKind::timeout:
      return timeout();
    default:
      return fail("a task of an unknown kind");
  }
}

void World::give(std::uint32_t index, const Event& event) {
  if (index == kNobody || !result_.ok()) return;
  Node& node = nodes_[index];
  if (node.state != State::running) return;
  nla::Actions actions;
  node.agent->handle(event, actions);
  if (hooks_.tamper) hooks_.tamper(index, event, actions);
  if (hooks_.observe) hooks_.observe(index, event, actions);
  note(index, event.index(), actions.size());
  for (nla::Action& action : actions) {
    if (!result_.ok()) return;
    if (node.state != State::running) {
      fail(name(index) + " wants something done after Finish");
      return;
    }
    const auto* send = std::get_if<nla::action::Send>(&action);
    note(action.index(), send != nullptr ? send->message.index() : 0);
    act(index, action);
  }
  check_held(index);
  if ((node.state == State::finished) != node.agent->finished()) {
    fail(name(index) + ": finished() and Finish disagree");
  }
}

void World::begin() {
  event::Begin begin;
  begin.job_id = "sim";
  for (std::uint32_t host = 0; host < schedule_.hosts; ++host)
    begin.hosts.push_back(cat("h", host));
  begin.degree = schedule_.degree;
  begin.grace_ms = schedule_.grace_ms;
  // As scela-run does: it is of no use where the first failure ends the job.
  begin.adopt_ms = schedule_.on_failure == nla::OnFailure::wait ? schedule_.adopt_ms : 0;
  give(0, std::move(begin));
}

// Does what the launcher's shell does when the tree is complete, or is known to be incomplete.
void World::decide() {
  if (stopped_ || root_killed_) return;
  const bool none_left = failed_hosts_.size() >= schedule_.hosts;
  if (none_left || (!failed_hosts_.empty() && !schedule_.launch_anyway)) {
    return user({true, nla::StopCause::agents_missing, 15, schedule_.grace_ms, 0, false});
  }
  job_.id = "sim";
  nla::App app;
  app.argv = {"program", "argument"};
  app.ranks = RankSet::run(0, schedule_.map().size());
  job_.apps.push_back(std::move(app));
  for (auto [node, ranks] : schedule_.place) {
    while (schedule_.remap && failed_hosts_.contains(node))
      node = (node + 1) % schedule_.hosts;
    job_.map.append(node, ranks);
  }
  job_.env = {"PATH=/bin", "LANG=C"};
  job_.wdir = "/tmp";
  job_.stdin_ranks = schedule_.stdin_ranks;
  job_.terminal_ranks = schedule_.terminal_ranks;
  job_.on_failure = schedule_.on_failure;
  job_.grace_ms = schedule_.grace_ms;
  job_.cache_policy = schedule_.policy;
  job_.cache_limit = schedule_.cache_limit;
  job_.trace = schedule_.trace;
  launched_ = true;
  for (std::uint32_t i = 0; i < schedule_.faults.size(); ++i) {
    const Fault& fault = schedule_.faults[i];
    if (fault.after_launch) tasks_.add(now_ + fault.at, TaskKind::fault, i);
  }
  for (std::uint32_t i = 0; i < schedule_.stimuli.size(); ++i) {
    const Stimulus& stimulus = schedule_.stimuli[i];
    if (stimulus.after_launch) tasks_.add(now_ + stimulus.at, TaskKind::user, i);
  }
  for (const Window& one : schedule_.windows) {
    if (one.after_launch) tasks_.add(now_ + one.at, TaskKind::window);
  }
  first_job_ = job_;
  give(0, event::Launch{job_});
}

void World::deliver(std::uint32_t index, bool down) {
  Link& link = network_.at(index);
  nla::Message message;
  std::string fault;
  if (!network_.take(index, down, message, fault)) return;
  if (!fault.empty()) return fail(fault);
  const std::uint32_t to = down ? link.child : link.parent;
  if (!down) link.heard = true;
  if (down) {
    if (const auto* start = std::get_if<nla::msg::Start>(&message)) {
      link.output_credit = start->output_window;
    } else if (const auto* adopt = std::get_if<nla::msg::Adopt>(&message)) {
      link.output_credit = adopt->output_window;
      if (adopt->last && to != kNobody) nodes_[to].held = nodes_[to].awaiting = false;
    } else if (const auto* credit = std::get_if<nla::msg::Credit>(&message)) {
      link.output_credit += credit->bytes;
    }
  }
  note(message.index());
  give(to, event::Received{down ? nla::kParentLink : link.parent_link, std::move(message),
                           now_ * 1000});
}

// How long a host waits until others have been started (--fanout).
Micros World::turn_of(std::uint32_t host) const {
  Micros turn = 0;
  for (const HostStart& start : schedule_.starts) {
    if (start.how == StartFault::waits && start.host == host) turn = std::max(turn, start.delay);
  }
  return turn;
}

// StartChild was asked for: how that will go follows from the host.
void World::begin_start(std::uint32_t index) {
  const Pace& pace = schedule_.pace;
  const Micros turn = now_ + turn_of(network_.at(index).host);
  Micros at = turn + random_.between(pace.start_min, std::max(pace.start_min, pace.start_max));
  tasks_.add(turn, TaskKind::child_begun, index);
  const std::uint32_t starter = network_.at(index).parent;
  for (const HostStart& start : schedule_.starts) {
    if (start.how == StartFault::keyless && starter != 0 && nodes_[starter].host == start.host) {
      network_.at(index).state = Link::State::failed;
      tasks_.add(turn + start.delay, TaskKind::child_failed, index,
                 static_cast<std::uint32_t>(nla::StartPhase::authenticate), 1);
      return;
    }
    if (start.host != network_.at(index).host) continue;
    if (start.how == StartFault::slow) at += start.delay;
    if (start.how >= StartFault::slow) continue;
    const auto phase = start.how == StartFault::refused  ? nla::StartPhase::connect
                       : start.how == StartFault::denied ? nla::StartPhase::authenticate
                                                         : nla::StartPhase::start_agent;
    network_.at(index).state = Link::State::failed;
    tasks_.add(turn + start.delay, TaskKind::child_failed, index,
               static_cast<std::uint32_t>(phase));
    return;
  }
  tasks_.add(at, TaskKind::start_agent, index);
}

void World::start_agent(std::uint32_t index) {
  Link& link = network_.at(index);
  const bool stillborn =
      std::any_of(schedule_.starts.begin(), schedule_.starts.end(), [&](const HostStart& start) {
        return start.host == link.host && start.how == StartFault::stillborn;
      });
  // The agent may have been given up while it was being started, or its starter may have died. Then
  // it was not started, or it starts and finds its link ended.
  if (link.broken && random_.chance(1, 2)) return network_.gone(index);
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.host = link.host;
  node.up = index;
  node.agent = std::make_unique<nla::Agent>(nla::Role::agent);
  const bool orphan = link.broken;
  if (orphan) {
    link.child = position;
    link.state = Link::State::running;
    link.end_due[1] = true;
    tasks_.add(now_, TaskKind::end_seen, index, 1);
    return;
  }
  network_.connect(index, position);
  if (stillborn) {
    node.disturbed = true;
    agent_dies(position, random_.chance(1, 2));
  }
}

// An attempt to become the parent of an agent that runs: it may not know yet that it has lost its
// own.
void World::attach(std::uint32_t index, Micros until) {
  constexpr Micros kAgain = 20'000;
  Link& link = network_.at(index);
  if (link.broken) return network_.gone(index);
  const auto failed = [&] {
    link.state = Link::State::failed;
    tasks_.add(now_, TaskKind::child_failed, index,
               static_cast<std::uint32_t>(nla::StartPhase::connect));
  };
  if (schedule_.attach_fails > 0 && random_.chance(1, schedule_.attach_fails)) return failed();
  const std::uint32_t found = agent_on(link.host);
  if (found == kNobody) return failed();
  Node& node = nodes_[found];
  if (!node.awaiting || node.held) {
    if (now_ >= until) return failed();
    tasks_.add(now_ + kAgain, TaskKind::attach, index, 0, until);
    return;
  }
  node.held = true;
  node.past_ups.push_back(node.up);
  node.up = index;
  network_.connect(index, found);
}

RunResult play(const Schedule& schedule, bool twice) {
  RunResult result = World(schedule).run();
  if (twice && result.ok() && World(schedule).run().hash != result.hash) {
    result.failure = "the same schedule gave different events the second time";
  }
  return result;
}

}  // namespace scela::sim
