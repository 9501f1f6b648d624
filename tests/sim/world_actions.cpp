// Carries out the actions of agents, with the checks that belong to a single action.
#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/payload.h"
#include "tests/sim/world.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;
namespace msg = nla::msg;

void World::act(std::uint32_t node, nla::Action& action) {
  std::visit([&](auto& one) { on(node, one); }, action);
}

void World::on(std::uint32_t index, action::Send& action) {
  Node& node = nodes_[index];
  const bool up = action.link == nla::kParentLink;
  if (up ? index == 0 : action.link > node.children.size()) {
    return fail(cat(name(index), " sends on link ", action.link, ", which it does not have"));
  }
  const std::uint32_t number = up ? node.up : node.children[action.link - 1];
  Link& link = network_.at(number);
  if (link.end_told[up ? 1 : 0]) {
    return fail(
        cat(name(index), " sends ", nla::name_of(action.message), " on a link that has ended"));
  }
  if (up && link.done_sent) {
    return fail(cat(name(index), " sends ", nla::name_of(action.message), " after Done"));
  }
  link.done_sent = up && std::holds_alternative<msg::Done>(action.message);
  if (const auto* start = std::get_if<msg::Start>(&action.message))
    link.alone = start->slice.size() == 1;
  if (std::holds_alternative<msg::SliceHosts>(action.message) && !link.alone && !link.begun) {
    return fail(
        cat(name(index), " takes work from host ", link.host, ", which waits for its turn"));
  }
  if (const auto* output = std::get_if<msg::Output>(&action.message); output != nullptr && up) {
    link.output_sent += output->bytes.size();
    if (link.output_sent > link.output_credit) {
      return fail(cat(name(index), " sends more output than its parent gave credit for"));
    }
  }
  network_.send(number, !up, std::move(action.message));
}

void World::on(std::uint32_t index, const action::StartChild& action) {
  Node& node = nodes_[index];
  if (action.link != node.children.size() + 1) {
    return fail(cat(name(index), " reuses or skips link numbers: ", action.link));
  }
  if (action.node >= hosts_now_ || action.host != cat("h", action.node)) {
    return fail(cat(name(index), " starts a host that is not in the list: ", action.host));
  }
  const std::uint32_t link = network_.open(index, action.link, action.node);
  node.children.push_back(link);
  if (!action.attach) return begin_start(link);
  network_.at(link).attach = true;
  const Pace& pace = schedule_.pace;
  const Micros at =
      now_ + random_.between(pace.start_min, std::max(pace.start_min, pace.start_max));
  tasks_.add(at, TaskKind::attach, link, 0, at + Micros{schedule_.adopt_ms} * 1000);
}

void World::on(std::uint32_t index, const action::CloseLink& action) {
  Node& node = nodes_[index];
  if (action.link < 1 || action.link > node.children.size()) {
    return fail(cat(name(index), " closes link ", action.link, ", which it does not have"));
  }
  const Link& link = network_.at(node.children[action.link - 1]);
  // A start is not waited for when the job is being ended.
  const bool cancelled = !link.heard && (severed(index) || needs_no_more());
  if (!gave_up_ && !cancelled) {
    return fail(cat(name(index), " gives up host ", link.host, ", which has kept to the protocol"));
  }
  network_.close_by_parent(node.children[action.link - 1]);
}

void World::on(std::uint32_t index, const action::UseJob& action) {
  Node& node = nodes_[index];
  if (node.has_job) return fail(name(index) + " is given its job twice");
  node.has_job = true;
  // The whole job only now and then: it is large when the tree is.
  const bool right = checks_++ % 64 == 0 || nodes_.size() < 20 ? action.job == first_job_
                                                               : action.job.id == job_.id;
  if (!right) return fail(name(index) + " understood another job than the launcher's");
  node.own = node.to_start = first_job_.map.ranks_of(node.host);
}

void World::on(std::uint32_t index, const action::AddWorld& action) {
  Node& node = nodes_[index];
  if (index == 0) {
    taken_ = true;
    return;
  }
  if (!node.has_job) return fail(name(index) + " is given ranks more before its job");
  if (node.worlds >= job_.worlds.size() || action.world != job_.worlds[node.worlds]) {
    return fail(cat(name(index), " understood another world ", node.worlds + 1));
  }
  const RankMap& map = job_.map;
  node.to_start = map.ranks_of(node.host).intersection(job_.ranks_of_world(++node.worlds));
  node.own.add(node.to_start);
}

void World::on(std::uint32_t index, const action::Spawn& action) {
  if (index != 0) return fail(name(index) + " plans a spawn, only the root may");
  spawns_asked_.push_back(action);
  tasks_.add(now_ + random_.below(300), TaskKind::plan);
}

// Places the ranks in turn on the hosts that are known to have an agent, from a drawn one on.
// A rank that asks out of turn, because an earlier question was lost, is refused.
void World::plan_spawn() {
  const action::Spawn action = std::move(spawns_asked_.front());
  spawns_asked_.pop_front();
  if (root().state != State::running) return;
  const auto op = static_cast<std::uint32_t>(std::stoul(action.request.programs.at(0).argv.at(1)));
  const RankSet ranks = schedule_.spawned_by(op);
  event::Planned planned{action.rank, action.id, {}, {}};
  if (ranks.front() != job_.map.size()) {
    planned.why = "it is not its turn";
    unspawned_.add(ranks);
    return give(0, planned);
  }
  if (add_hosts(action, op)) return;
  planned.world.first = ranks.front();
  planned.world.parent = action.rank;
  planned.world.preput = action.request.preput;
  nla::App app;
  app.argv = action.request.programs[0].argv;
  app.ranks = ranks;
  planned.world.apps.push_back(app);
  auto host = static_cast<std::uint32_t>(mix(schedule_.delay_seed, op) % hosts_now_);
  if (schedule_.ops[op].ref > 0) host = added_.first;
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    while (failed_hosts_.contains(host) && failed_hosts_.size() < hosts_now_)
      host = (host + 1) % hosts_now_;
    planned.world.map.append(host, 1);
    host = (host + 1) % hosts_now_;
  }
  nla::Job grown = job_;
  if (!grown.add(planned.world)) return fail("the simulator planned what is no world");
  std::swap(grown, job_);
  taken_ = false;
  give(0, planned);
  if (taken_ || !result_.ok()) return;
  const bool gone = lost_rank(action.rank) || ranks_[action.rank].life == Life::over;
  if (!stopped_ && !needs_no_more() && !gone) {
    return fail("the root refuses a world without a reason");
  }
  job_ = std::move(grown);
  unspawned_.add(ranks);
}

// Returns true if the spawn waits for hosts that it is the first to need.
bool World::add_hosts(const action::Spawn& action, std::uint32_t op) {
  const std::uint32_t count = schedule_.ops[op].ref;
  if (count == 0 || !grown_.insert(op).second) return false;
  growing_ = action;
  event::AddHosts more;
  added_ = {hosts_now_, hosts_now_ + count};
  for (; hosts_now_ < added_.end; ++hosts_now_)
    more.hosts.push_back(cat("h", hosts_now_));
  give(0, more);
  return true;
}

void World::on(std::uint32_t index, const action::HostsAdded& action) {
  if (index != 0 || !growing_ || action.nodes != added_) {
    return fail(name(index) + " tells of other hosts than were to be added");
  }
  for (std::uint32_t host = added_.first; host < added_.end && !needs_no_more(); ++host) {
    if (agent_on(host) != kNobody || failed_hosts_.contains(host) || host_had_fault(host)) continue;
    return fail(cat("host ", host, " is said to have been added, and has no agent"));
  }
  spawns_asked_.push_front(*std::exchange(growing_, std::nullopt));
  tasks_.add(now_ + random_.below(300), TaskKind::plan);
}

void World::on(std::uint32_t index, const action::WorldLaunched& action) {
  if (index != 0) return fail(name(index) + " concludes a spawn, only the root may");
  if (action.why.empty()) return;
  unspawned_.add(action.ranks);
  if (!may_fail(action.ranks)) fail("a spawn failed without a reason: " + action.why);
}

void World::on(std::uint32_t index, const action::EndRanks& action) {
  Node& node = nodes_[index];
  if (!node.own.contains_all(action.ranks) || !unspawned_.contains_all(action.ranks)) {
    return fail(cat(name(index), " ends ranks ", action.ranks.text(), " that are to run"));
  }
  action.ranks.for_each([&](Rank rank) { signal(rank, 9); });
}

void World::on(std::uint32_t index, const action::StartRanks& action) {
  Node& node = nodes_[index];
  if (!node.has_job) return fail(name(index) + " starts ranks without a job");
  const bool all = node.worlds > 0 || action.ranks == node.to_start;
  if (!all || !node.to_start.contains_all(action.ranks)) {
    return fail(cat(name(index), " starts ranks ", action.ranks.text(), ", its own are ",
                    node.to_start.text()));
  }
  Micros at = now_;
  action.ranks.for_each([&](Rank rank) {
    RankModel& model = ranks_[rank];
    if (model.life != Life::none) return fail(cat("rank ", rank, " is started twice"));
    model.life = Life::starting;
    model.node = index;
    node.ranks.push_back(rank);
    at += random_.below(300);
    tasks_.add(at, TaskKind::rank_start, rank);
  });
}

void World::on(std::uint32_t index, const action::SignalRanks& action) {
  Node& node = nodes_[index];
  node.signalled = true;
  for (const Rank rank : node.ranks)
    signal(rank, action.signo);
}

void World::on(std::uint32_t index, const action::EndLeftovers& action) {
  Node& node = nodes_[index];
  node.empty_asked = true;
  node.signalled = true;
  if (action.force) {
    for (const Rank rank : node.ranks)
      signal(rank, 9);
  }
  for (std::uint32_t i = 0; i < node.leftovers.size(); ++i) {
    const LeftoverModel& leftover = node.leftovers[i];
    if (!leftover.alive || leftover.what.kind == LeftoverKind::outside) continue;
    if (!action.force && leftover.what.kind == LeftoverKind::ignores) continue;
    tasks_.add(now_ + random_.below(3000), TaskKind::leftover_end, index, i);
  }
  check_empty(index);
}

void World::on(std::uint32_t index, const action::SetTimer& action) {
  TimerModel& timer = nodes_[index].timers[static_cast<std::size_t>(action.timer)];
  timer.armed = true;
  ++timer.generation;
  tasks_.add(now_ + Micros{action.delay_ms} * 1000, TaskKind::timer, index,
             static_cast<std::uint32_t>(action.timer), timer.generation);
}

void World::on(std::uint32_t index, const action::CancelTimer& action) {
  nodes_[index].timers[static_cast<std::size_t>(action.timer)].armed = false;
}

void World::on(std::uint32_t index, action::Reply& action) {
  if (action.rank >= ranks_.size() || ranks_[action.rank].node != index) {
    return fail(cat(name(index), " answers rank ", action.rank, ", which is not on it"));
  }
  RankModel& rank = ranks_[action.rank];
  const auto due = std::find_if(rank.due.begin(), rank.due.end(),
                                [&](const auto& entry) { return entry.first == action.id; });
  const bool again = std::count(rank.arriving.begin(), rank.arriving.end(), action.id) > 0;
  if (due == rank.due.end() || again) {
    return fail(cat("rank ", action.rank, " is answered request ", action.id,
                    " twice, or without having asked"));
  }
  const std::uint32_t op = due->second;
  const std::string complaint = reference_.answered(
      op, action.rank, action.response, !action.response.ok && excused(op, action.rank));
  if (!complaint.empty()) {
    return fail(cat("rank ", action.rank, ", op ", schedule_.ops[op].id, ": ", complaint));
  }
  rank.arriving.push_back(action.id);
  tasks_.add(now_ + random_.below(100), TaskKind::rank_reply, action.rank, 0, action.id);
}

void World::on(std::uint32_t index, const action::ReadOutput& action) {
  nodes_[index].output_credit += action.bytes;
  want_pump(index);
}

void World::on(std::uint32_t index, const action::DropStreams&) {
  for (const Rank rank : nodes_[index].ranks) {
    for (Pipe& pipe : ranks_[rank].pipe) {
      if (!pipe.end_given) pipe.dropped = true;
    }
  }
  want_pump(index);
}

void World::on(std::uint32_t index, const action::WriteStdin& action) {
  Node& node = nodes_[index];
  if (!node.own.intersects(schedule_.stdin_ranks)) {
    return fail(name(index) + " is to write standard input and has no rank that reads it");
  }
  if (node.input_end) return fail(name(index) + " writes standard input after its end");
  if (!stream_has(~std::uint64_t{0}, node.input, action.bytes.view())) {
    return fail(name(index) + " writes other standard input than was read");
  }
  node.input += action.bytes.size();
  node.input_end = action.end;
  if (action.end && node.input != schedule_.stdin_bytes) {
    return fail(name(index) + " ends standard input early");
  }
  for (const Rank rank : node.ranks)
    wake(rank);
  want_taken(index);
}

void World::on(std::uint32_t index, const action::Finishing&) {
  if (nodes_[index].measured) return fail(name(index) + " is finishing twice");
  nodes_[index].measured = true;
  tasks_.add(now_ + random_.below(200), TaskKind::measure, index);
}

void World::on(std::uint32_t index, const action::Finish&) {
  check_finish(index);
  Node& node = nodes_[index];
  node.state = State::finished;
  // Children that were given up are closed by the process's end.
  for (const std::uint32_t link : node.children) {
    if (!network_.at(link).broken) network_.end_of(link, false, false);
  }
  if (index == 0) {
    result_.ended_at = now_;
    return;
  }
  if (!network_.at(node.up).broken) network_.end_of(node.up, true, false);
  check_gone(index);
}

void World::on(std::uint32_t index, const action::NodeFailed& action) {
  if (index != 0) return fail(name(index) + " shows a failed node, only the root may");
  const std::uint32_t host = action.failure.node;
  if (!failed_hosts_.insert(host).second) {
    return fail(cat("host ", host, " is reported as failed twice"));
  }
  // If the job is to end, agents call starts off, and may be lost before they report it.
  const bool began = std::any_of(nodes_.begin(), nodes_.end(),
                                 [&](const Node& node) { return node.host == host; });
  const bool called_off = must_end_since_ != 0 && !began;
  if (!host_had_fault(host) && !called_off) {
    fail(cat("host ", host, " is reported as failed and was not: ", action.failure.why));
  }
}

void World::on(std::uint32_t index, const action::AllReady& action) {
  if (index != 0 || all_ready_) return fail(name(index) + ": AllReady from an agent, or twice");
  all_ready_ = true;
  const std::uint64_t expected = schedule_.hosts - failed_hosts_.size();
  if (action.agents != expected) {
    return fail(cat("AllReady tells of ", action.agents, " agents, there are ", expected));
  }
  tasks_.add(now_ + random_.below(2000), TaskKind::decide);
}

void World::on(std::uint32_t index, const action::AllLaunched& action) {
  if (index != 0 || all_launched_)
    return fail(name(index) + ": AllLaunched from an agent, or twice");
  all_launched_ = true;
  if (action.ranks > result_.ranks) {
    return fail(
        cat("AllLaunched tells of ", action.ranks, " ranks, ", result_.ranks, " were started"));
  }
  const bool all = action.ranks == first_job_.map.size();  // those that are spawned do not count
  if (schedule_.peaceful() && !all) fail("AllLaunched counts wrong");
}

void World::on(std::uint32_t index, const action::ShowOutput& action) {
  if (index != 0 || action.rank >= ranks_.size()) return fail(name(index) + " shows output");
  const auto stream = static_cast<std::size_t>(action.stream);
  Pipe& pipe = ranks_[action.rank].pipe[stream];
  const std::string what = cat("rank ", action.rank, ", stream ", stream);
  if (pipe.end_shown) return fail(what + ": output after its end");
  if (!stream_has(mix(action.rank, stream), pipe.shown, action.bytes.view())) {
    return fail(cat(what, ": wrong output at byte ", pipe.shown));
  }
  pipe.shown += action.bytes.size();
  pipe.end_shown = action.end;
  if (pipe.shown > pipe.read) return fail(what + ": output was shown that was never read");
  if (action.bytes.empty()) return;
  unshown_ += action.bytes.size();
  tasks_.add(now_ + random_.below(schedule_.pace.show_max + 1), TaskKind::shown, 0, 0,
             action.bytes.size());
}

void World::on(std::uint32_t index, const action::ShowLog& action) {
  if (index != 0) return fail(name(index) + " shows a log record, only the root may");
  if (action.record.level == LogLevel::error)
    fail("an agent reports an error: " + action.record.text);
}

void World::on(std::uint32_t index, const action::FirstFailure& action) {
  if (index != 0 || first_failure_)
    return fail(name(index) + ": FirstFailure from an agent, or twice");
  first_failure_.emplace(action.rank, action.outcome);
  if (action.rank >= ranks_.size()) return fail("FirstFailure names no rank");
  const std::string complaint = judge(action.rank, action.outcome);
  if (!complaint.empty()) return fail("FirstFailure did not happen: " + complaint);
  if (action.outcome.success() || action.outcome.ended_by_us) return fail("FirstFailure is none");
  const bool ends = schedule_.on_failure == nla::OnFailure::kill || action.outcome.ends_job();
  if (ends && must_end_since_ == 0) must_end_since_ = std::max<Micros>(now_, 1);
}

void World::on(std::uint32_t, const action::ReadStdin& action) {
  input_credit_ += action.bytes;
  want_stdin();
}

void World::on(std::uint32_t index, const action::TracePiece& action) {
  if (index != 0) return fail(name(index) + " shows a trace");
  if (traces_[action.node] < 0) return fail(cat("node ", action.node, ": trace after its end"));
  traces_[action.node] = action.last ? -1 : 1;
}

// The agent and those below it cannot reach the others any more. Operations among themselves go on,
// except for those that were under way.
void World::on(std::uint32_t index, const action::AwaitAdoption& action) {
  Node& node = nodes_[index];
  if (index == 0) return fail("the root waits for somebody to adopt it");
  if (!action.still) {
    node.awaiting = false;
    if (!std::exchange(node.held, false)) return;
    network_.at(node.up).severed = true;
    if (!network_.at(node.up).broken) network_.end_of(node.up, true, false);
    return;
  }
  if (!network_.at(node.up).end_told[1])
    return fail(name(index) + " has a parent and wants another");
  node.held = false;
  node.awaiting = true;
  node.orphaned = true;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].node == kNobody || !below(ranks_[rank].node, index)) continue;
    for (const auto& [id, op] : ranks_[rank].due)
      cut_ops_.insert(op);
  }
}

void World::on(std::uint32_t index, const action::ResizeTerminal& action) {
  if (!nodes_[index].own.intersects(schedule_.terminal_ranks)) {
    return fail(name(index) + " is to resize a terminal and has none");
  }
  if (action.size.columns > windows_given_ || action.size.columns < window_shown_) {
    return fail(cat(name(index), " sets size ", action.size.columns, " of the terminal after ",
                    window_shown_, ", of ", windows_given_));
  }
  window_shown_ = action.size.columns;
}

void World::on(std::uint32_t index, const action::RanksFailed& action) {
  if (nodes_[index].own.empty()) return fail(name(index) + " has no ranks to tell of failed ones");
  nodes_[index].failed.add(action.ranks);
  action.ranks.for_each([&](Rank rank) {
    if (ranks_[rank].life != Life::over && !lost_rank(rank) && !ranks_[rank].abort) {
      fail(cat(name(index), " says that rank ", rank, " has failed, which runs"));
    }
  });
}

// Ranks of a lost node that were not reported as failed must have ended well before, or were not to
// run.
void World::on(std::uint32_t index, const action::NodesLost& action) {
  if (nodes_[index].own.empty()) return fail(name(index) + " has no ranks to tell of lost nodes");
  if (nodes_[index].ranks.empty()) return;  // none of them was started, and none is told
  action.nodes.for_each([&](std::uint32_t host) {
    if (!host_had_fault(host)) {
      return fail(cat(name(index), " says that host ", host, " is lost, which is not"));
    }
    const RankSet others = job_.map.ranks_of(host).minus(nodes_[index].failed);
    others.for_each([&](Rank rank) {
      const RankModel& model = ranks_[rank];
      const bool well = model.life == Life::over && model.fate.success();
      if (well || unspawned_.contains(rank) || !model.ran || must_end_since_ != 0) return;
      fail(cat(name(index), " says that host ", host, " is lost, and not that rank ", rank, " is"));
    });
  });
}

void World::on(std::uint32_t index, const action::Reconnected& action) {
  if (nodes_[index].own.empty() || action.ranks.empty()) {
    fail(name(index) + " has no ranks to tell of another way to others");
  }
}

void World::on(std::uint32_t index, const action::JobEnded& action) {
  if (index != 0 || job_ended_) return fail(name(index) + ": JobEnded from an agent, or twice");
  job_ended_ = true;
  check_verdicts(action);
  if (schedule_.peaceful()) check_peaceful(action);
}

}  // namespace scela::sim
