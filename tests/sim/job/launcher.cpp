#include "tests/sim/job/launcher.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;

void Launcher::on(std::uint32_t index, const action::AllReady& action) {
  if (index != 0 || all_ready_)
    return run_.fail(nodes_.name(index) + ": AllReady from an agent, or twice");
  all_ready_ = true;
  const std::uint64_t expected =
      run_.schedule.hosts - (job_.launched ? never_ready_ : job_.failed_hosts.size());
  if (action.agents != expected) {
    return run_.fail(cat("AllReady tells of ", action.agents, " agents, there are ", expected));
  }
  if (!job_.launched) run_.after(run_.random.below(2000), TaskKind::decide);
}

void Launcher::on(std::uint32_t index, const action::AllLaunched& action) {
  if (index != 0 || all_launched_)
    return run_.fail(nodes_.name(index) + ": AllLaunched from an agent, or twice");
  all_launched_ = true;
  if (action.ranks > run_.result.ranks) {
    return run_.fail(
        cat("AllLaunched tells of ", action.ranks, " ranks, ", run_.result.ranks, " were started"));
  }
  const bool all = action.ranks == job_.first.map.size();  // without spawned ones
  if (run_.schedule.peaceful() && !all) run_.fail("AllLaunched counts wrong");
}

void Launcher::on(std::uint32_t index, const action::NodeFailed& action) {
  if (index != 0) return run_.fail(nodes_.name(index) + " shows a failed node, only the root may");
  const std::uint32_t host = action.failure.node;
  if (!job_.failed_hosts.insert(host).second) {
    return run_.fail(cat("host ", host, " is reported as failed twice"));
  }
  if (action.failure.phase != nla::StartPhase::running) ++never_ready_;
  if (nodes_.host_had_fault(host)) return;
  // If the job is to end, starts are called off. An agent that has called one off may be lost
  // before it says so.
  bool began = false;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    began = began || nodes_[i].host == host;
  if (end_.due() && !began) return;
  run_.fail(cat("host ", host, " is reported as failed and was not: ", action.failure.why));
}

void Launcher::on(std::uint32_t index, const action::ShowLog& action) {
  if (index != 0) return run_.fail(nodes_.name(index) + " shows a log record, only the root may");
  if (action.record.level == LogLevel::error)
    run_.fail("an agent reports an error: " + action.record.text);
}

void Launcher::begin() {
  event::Begin begin;
  begin.job_id = "sim";
  for (std::uint32_t host = 0; host < run_.schedule.hosts; ++host)
    begin.hosts.push_back(cat("h", host));
  begin.degree = run_.schedule.degree;
  begin.grace_ms = run_.schedule.grace_ms;
  // As in scela-run: an adoption is of no use if the first failure ends the job.
  const bool waits = run_.schedule.on_failure == nla::OnFailure::wait;
  begin.adopt_ms = waits ? run_.schedule.adopt_ms : 0;
  agents_.give(0, std::move(begin));
  if (run_.schedule.early) launch();
}

void Launcher::decide() {
  if (end_.stopped() || nodes_.root_killed()) return;
  const std::size_t failed = job_.failed_hosts.size();
  const bool none_left = failed >= run_.schedule.hosts;
  if (none_left || (failed > 0 && !run_.schedule.launch_anyway)) {
    return user({true, nla::StopCause::agents_missing, 15, run_.schedule.grace_ms, 0, false});
  }
  launch();
}

void Launcher::launch() {
  make_job();
  job_.launched = true;
  run_.plan(Planned::after_launch);
  job_.first = job_.now;
  agents_.give(0, event::Launch{job_.now});
}

void Launcher::make_job() {
  const Schedule& schedule = run_.schedule;
  nla::Job& job = job_.now;
  job.id = "sim";
  nla::App app;
  app.argv = {"program", "argument"};
  app.ranks = RankSet::run(0, schedule.map().size());
  job.apps.push_back(std::move(app));
  for (auto [node, ranks] : schedule.place) {
    while (schedule.remap && job_.failed_hosts.contains(node))
      node = (node + 1) % schedule.hosts;
    job.map.append(node, ranks);
  }
  job.env = {"PATH=/bin", "LANG=C"};
  job.wdir = "/tmp";
  job.stdin_ranks = schedule.stdin_ranks;
  job.terminal_ranks = schedule.terminal_ranks;
  job.on_failure = schedule.on_failure;
  job.grace_ms = schedule.grace_ms;
  job.cache_policy = schedule.policy;
  job.cache_limit = schedule.cache_limit;
  job.trace = schedule.trace;
}

void Launcher::user(const Stimulus& stimulus) {
  if (!nodes_.running(0)) return;
  if (!stimulus.stop) {
    end_.forward_signal();
    return agents_.give(0, event::UserSignal{stimulus.signo});
  }
  end_.stop();
  agents_.give(0, event::Stop{stimulus.cause, stimulus.signo, stimulus.grace_ms});
}

}  // namespace scela::sim
