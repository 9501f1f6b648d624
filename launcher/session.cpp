#include "launcher/session.h"

#include <time.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <optional>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/terminal.h"
#include "launcher/core/report/report_text.h"
#include "launcher/debug/debugging.h"
#include "launcher/debug/mpir.h"
#include "launcher/debug/panes.h"
#include "launcher/hosts/late/join_watch.h"
#include "launcher/hosts/node_losses.h"
#include "launcher/io/log_output.h"
#include "launcher/io/stdin_reader.h"
#include "launcher/job_control.h"
#include "launcher/job_output.h"
#include "launcher/plan/begin_event.h"
#include "launcher/plan/host_topologies.h"
#include "launcher/plan/master_address.h"
#include "launcher/report/job_records.h"
#include "launcher/report/stats.h"
#include "launcher/report/verdict.h"
#include "launcher/spawn/spawning.h"
#include "nla/io/constants.h"
#include "nla/process/shell.h"
#include "nla/spawn/factory.h"

namespace scela {

namespace {

namespace asio = boost::asio;
namespace action = nla::action;
namespace event = nla::event;

// Returns the time in the unit of Phases: monotonic clock, in nanoseconds.
std::int64_t phase_moment() {
  return static_cast<std::int64_t>(monotonic_ns());
}

// Agents that join from now on wait for the next start, or for ranks that are spawned. Returns
// nullptr if agents do not join.
std::unique_ptr<JoinWatch> watch_late_agents(asio::io_context& io, const HostContacts& access,
                                             const Plan& plan, const Options& options,
                                             StderrWriter& person, Log& log, Spawning& spawning) {
  if (!access.joined) return nullptr;
  const nla::Training& training = plan.job.training;
  const bool restarts = training.restarts < training.max_restarts;
  const bool spawns = !options.no_spawn && !plan.once_per_host && may_spawn(plan.job.pmi);
  JoinWatch::Hooks hooks;
  hooks.tell = [&person](const std::string& line) {
    person.write(cat(kProgramName, printable(line, kMaxOwnText), "\n"));
  };
  hooks.came = [restarts, spawns, &log, &spawning](const HostEntry& host) {
    if (spawns) spawning.add_host(host);
    log.say(Subsystem::launch,
            cat("the agent of ", host.name, " has joined late: it waits for ",
                restarts ? "the next start of the job" : "", restarts && spawns ? ", or for " : "",
                spawns ? "ranks that are spawned" : ""));
  };
  return std::make_unique<JoinWatch>(io, access.joined, restarts || spawns, std::move(hooks));
}

class Session {
 public:
  Session(const Options& options, Plan plan, HostContacts reach, StderrWriter& log,
          std::int64_t began_ns)
      : options_(options),
        plan_(std::move(plan)),
        access_(std::move(reach)),
        stderr_(log),
        log_(options_, log),
        output_(output_sides()),
        job_control_(plan_, job_control_sides()),
        spawning_(plan_, failed_, options_, stderr_, log_, spawning_sides()),
        debugging_(plan_, failed_, stderr_,
                   [this](nla::Event event) { shell_->post(std::move(event)); }),
        node_losses_(plan_.hosts,
                     {[this](event::NodeDown down) { shell_->post(std::move(down)); },
                      [this](const std::string& note) { log_.say(Subsystem::tree, note); }}) {
    phases_.begin = began_ns;
  }

  Result<SessionResult> run(const std::string& agent);

 private:
  Result<void> open_files();
  void begin();
  void on_action(const nla::Action& action);
  void on(const action::NodeFailed& failed);
  void on(const action::AllReady& ready);
  void launch();
  void on(const action::AllLaunched& launched);
  void on(const action::ShowOutput& output);
  void on(const action::Spawn& spawn) { spawning_.on(spawn); }
  void on(const action::HostsAdded& added) { spawning_.on(added); }
  void on(const action::WorldLaunched& launched) { spawning_.on(launched); }
  void on(const action::Inspected& piece) { debugging_.on(piece); }
  void on(const action::FirstFailure& failure);
  void on(const action::ReadStdin& read) {
    panes_ ? panes_->allow(read.bytes) : stdin_->allow(read.bytes);
  }
  void on(const action::JobEnded& ended);
  void on(const action::ShowLog& log);
  void on(const action::TracePiece& piece) {
    trace_.add(piece.node, piece.bytes.view());
    const RankSet ranks = plan_.job.map.ranks_of(piece.node);
    counters_.add(piece.node, ranks, piece.bytes.view());
    records_.add_report(piece.node, ranks, piece.bytes.view());
  }
  template <class Other>
  void on(const Other&) {}

  JobControl::Hooks job_control_sides();
  void end_by_signal(int signo);
  void give_up_start(std::optional<Error> cause);
  void start_timeout();
  void time_over();
  void stop(nla::StopCause cause, int signo, std::chrono::milliseconds grace);
  void input_read(Chunk bytes, bool end);
  Spawning::Hooks spawning_sides();
  JobOutput::Hooks output_sides();
  void output_failed(const Error& error);
  SessionResult finish();
  void note_late_error(const std::optional<Error>& error);
  void write_records();

  const Options& options_;
  Plan plan_;
  HostContacts access_;
  std::string agent_;  // path of scela-nla
  TraceFile trace_;
  JobRecords records_;
  RankCounters counters_;
  StderrWriter& stderr_;
  Log log_;
  Phases phases_;
  JobOutcome outcome_;
  nla::Stats stats_;
  std::unique_ptr<nla::Shell> shell_;
  JobOutput output_;
  std::unique_ptr<StdinReader> stdin_;
  JobControl job_control_;
  std::unique_ptr<asio::steady_timer> timeout_;
  bool stopping_ = false;
  bool launched_ = false, over_ = false;          // the job was sent to the nodes; JobEnded came
  std::optional<Error> record_error_;             // why a --record part is cut short
  std::optional<Error> lost_node_;                // first node lost while the job ran
  std::optional<Error> start_error_;              // of the first node that did not start
  std::vector<std::uint32_t> ranks_of_programs_;  // when the ranks were sent to the nodes
  RankSet failed_;                                // numbers of nodes, not ranks
  std::string last_of_pmi_;                       // last PMI text of a node
  Spawning spawning_;
  Debugging debugging_;
  std::unique_ptr<Panes> panes_;            // if the plan has panes
  std::unique_ptr<JoinWatch> late_agents_;  // if agents join
  NodeLosses node_losses_;
};

Result<SessionResult> Session::run(const std::string& agent) {
  outcome_.missing = plan_.missing;
  outcome_.rule = options_.exit_status;
  if (plan_.once_per_host) {
    outcome_.once_per_host = true;
    outcome_.hosts = plan_.hosts;
    outcome_.report_all = options_.verbose;
  }
  if (auto prepared = output_.prepare(options_, plan_); !prepared) return fail(prepared.error());
  if (auto opened = open_files(); !opened) return fail(opened.error());
  nla::ShellOptions shell;
  shell.role = nla::Role::root;
  shell.agent = agent_ = agent;
  shell.spawn = std::move(access_.spawn);
  shell.spawn.network = &nla::network_parts();
  for (const std::string& note : access_.notes)
    log_.say(Subsystem::tree, note);
  shell.on_action = [this](const nla::Action& action) { on_action(action); };
  shell.record = options_.record.value_or("");
  if (access_.loss_tool) shell.own_children = {access_.loss_tool->command->pid()};
  auto made = nla::Shell::create(std::move(shell));
  if (!made) return fail(made.error());
  shell_ = std::move(*made);

  asio::io_context& io = shell_->context();
  StdinReader::Hooks input;
  input.in_foreground = [this] { job_control_.in_foreground(); };
  input.read = [this](Chunk bytes, bool end) { input_read(std::move(bytes), end); };
  stdin_ = std::make_unique<StdinReader>(io, std::move(input));
  output_.open(io);
  job_control_.open(io);
  timeout_ = std::make_unique<asio::steady_timer>(io);
  spawning_.open(io, access_.find_later);
  late_agents_ = watch_late_agents(io, access_, plan_, options_, stderr_, log_, spawning_);
  debugging_.open(io);
  if (panes_) panes_->open(io, [this](nla::Event event) { shell_->post(std::move(event)); });
  start_timeout();
  begin();
  if (options_.hears_node_losses) node_losses_.open(io, std::exchange(access_.loss_tool, {}));
  shell_->run();
  phases_.gone = phase_moment();
  late_agents_.reset();
  if (panes_) panes_->finish();
  output_.finish();
  job_control_.leave_terminal();
  return finish();
}

// Opens the panes of ranks, and the files of --trace and --json.
Result<void> Session::open_files() {
  if (plan_.panes) {
    panes_ = std::make_unique<Panes>(plan_);
    if (auto started = panes_->start(stderr_); !started) return started;
  }
  if (options_.trace) {
    if (auto opened = trace_.open(*options_.trace); !opened) return opened;
  }
  if (!options_.json) return {};
  return records_.open(
      *options_.json, plan_.job.training.is_restart(),
      [this](std::string text) { output_.writer().add_text(std::move(text)); },
      [this](const std::string& line) { stderr_.write(line); });
}

void Session::begin() {
  stderr_.set_before([this] { output_.make_room(); });
  phases_.tree = phase_moment();
  auto begin = make_begin_event(options_, plan_, agent_, std::move(access_.contacts), phases_.tree);
  if (!plan_.pmi_choice.why.empty()) {
    const bool pmix = plan_.job.pmi == nla::PmiKind::pmix;
    log_.say(Subsystem::pmi, cat("--pmi ",
                                 !pmix                      ? "fd"
                                 : plan_.pmi_choice.guessed ? "pmix and fd"
                                                            : "pmix",
                                 ": ", plan_.pmi_choice.why));
  }
  log_.say(Subsystem::tree, cat("starting ", plan_.hosts.size(), " agents, degree ", plan_.degree));
  shell_->post(std::move(begin));
  if (launches_early(options_, plan_) && !is_debugged()) {
    launch();
    debugging_.ranks_run();  // on each host by itself
  }
}

void Session::on_action(const nla::Action& action) {
  std::visit([this](const auto& one) { on(one); }, action);
}

void Session::on(const action::NodeFailed& failed) {
  const nla::msg::NodeFailed& failure = failed.failure;
  if (failure.node >= plan_.hosts.size() || failed_.contains(failure.node)) return;
  failed_.add(failure.node);
  debugging_.node_failed(failure.node);
  const std::string& host = plan_.hosts[failure.node];
  log_.say(Subsystem::tree, cat(host, ": ", name_of(failure.phase), ": ", failure.why));
  if (spawning_.failed(failure)) return;
  const auto known = std::ranges::find(access_.missing, host, &MissingHost::host);
  const MissingHost failed_host =
      known != access_.missing.end()
          ? *known
          : MissingHost{host, std::string(name_of(failure.phase)), failure.why};
  records_.add_failure(failed_host, launched_ && failure.phase == nla::StartPhase::running);
  const bool spared = plan_.once_per_host || options_.min_nodes || options_.spares > 0;
  // A command for each host may run already on other hosts.
  const bool is_missing =
      !launched_ || (plan_.once_per_host && failure.phase != nla::StartPhase::running);
  if (is_missing && spared) {
    outcome_.missing.push_back(failed_host);
  } else {
    outcome_.failed_nodes.push_back(host);
    if (failure.why.starts_with(nla::msg::kParentLost)) outcome_.cut_off_nodes.push_back(host);
  }
  if (launched_ && failure.phase == nla::StartPhase::running) {
    plan_.job.map.ranks_of(failure.node).for_each([&](Rank rank) { job_control_.rank_over(rank); });
    if (plan_.once_per_host) {
      outcome_.lost.add(failure.node);
    } else if (!lost_node_) {
      lost_node_ = Error{ErrorKind::unreachable, "look after its ranks to the end", host,
                         failure.why, "what they wrote last may be missing"};
    }
    return;
  }
  const bool reached =
      failure.phase == nla::StartPhase::start_agent || failure.phase == nla::StartPhase::hello;
  if (start_error_) return;
  start_error_ =
      Error{reached ? ErrorKind::launch : ErrorKind::unreachable,
            cat("start its agent (", name_of(failure.phase), ")"), host, failure.why, ""};
}

void Session::on(const action::AllReady& ready) {
  phases_.ready = phase_moment();
  log_.say(Subsystem::tree, cat(ready.agents, " of ", plan_.hosts.size(), " agents are ready"));
  if (launched_) return;
  if (ready.agents < plan_.min_nodes) return give_up_start(std::move(start_error_));
  const bool guessed = plan_.machines.empty();
  const std::string shown = options_.show_map ? map_text(plan_) : "";
  use_topologies(plan_, ready.topologies);
  if (plan_.slots_from_processors || (ready.agents < plan_.hosts.size() && !plan_.once_per_host)) {
    RankSet without = failed_;
    without.add(unused_spares(plan_, failed_));
    if (auto mapped = remap_ranks(plan_, options_, without); !mapped) {
      return give_up_start(mapped.error());
    }
    if (auto prepared = output_.prepare(options_, plan_); !prepared)
      return give_up_start(prepared.error());
    if (options_.show_map) {
      const std::string now = map_text(plan_);
      if (guessed || now != shown) stderr_.write(now);  // the earlier map is outdated
    }
  }
  if (auto met = use_rendezvous(plan_, ready.rendezvous); !met) return give_up_start(met.error());
  if (options_.show_map) stderr_.write(bindings_text(bindings_of(plan_, failed_)));
  launch();
}

// Sends the job to the nodes.
void Session::launch() {
  for (const SegmentRanks& segment : plan_.segments)
    ranks_of_programs_.push_back(segment.count);
  launched_ = true;
  if (plan_.pty) plan_.job.window = window_size(0).value_or(WindowSize{});
  if (is_debugged()) plan_.job.stops.on_exec = RankSet::run(0, plan_.job.map.size());
  records_.begin(plan_, phases_.begin);
  shell_->post(event::Launch{plan_.job});
  // Until here keys have their usual meaning. From here on they go to the rank.
  job_control_.launched();
}

void Session::give_up_start(std::optional<Error> cause) {
  if (!outcome_.error) outcome_.error = std::move(cause);
  stop(nla::StopCause::agents_missing, SIGTERM, options_.grace);
}

void Session::on(const action::ShowLog& log) {
  const LogRecord& record = log.record;
  // An agent cannot write its part of --record.
  if (options_.record && record.subsystem == Subsystem::trace && record.level == LogLevel::error &&
      !record_error_) {
    record_error_ = Error{ErrorKind::io, record.text, record.node, "", ""};
    return;
  }
  if (record.subsystem == Subsystem::launch && record.text.starts_with(nla::kEndedProcesses)) {
    if (plan_.once_per_host)
      outcome_.add_left_running(record.node, record.text.substr(nla::kEndedProcesses.size()));
    return;
  }
  // The user asked for these lines (--report-bindings), so they do not depend on -v.
  const bool asked_for = record.subsystem == Subsystem::placement && plan_.job.placement.report;
  if (!asked_for) {
    // A text that several nodes send is shown once.
    const bool alike = record.subsystem == Subsystem::pmi && record.text == last_of_pmi_;
    if (record.subsystem == Subsystem::pmi) last_of_pmi_ = record.text;
    if (!alike || options_.verbose) log_.show(record);
    return;
  }
  stderr_.write(cat(kProgramName, printable(record.node), ": ", printable(record.text), "\n"));
}

void Session::on(const action::AllLaunched& launched) {
  phases_.launched = phase_moment();
  log_.say(Subsystem::launch,
           cat(counted(launched.ranks, "rank"), launched.ranks == 1 ? " runs" : " run"));
  job_control_.ranks_run();  // their input starts here
  debugging_.launched();
}

void Session::on(const action::ShowOutput& output) {
  if (panes_ && panes_->show(output.rank, output.bytes.view(),
                             output.end && output.stream == nla::Stream::out)) {
    return;
  }
  const OutputStream stream =
      output.stream == nla::Stream::out ? OutputStream::out : OutputStream::err;
  output_.accept(output.rank, stream, output.bytes.view(), output.end);
  if (output.end && stream == OutputStream::out) job_control_.rank_over(output.rank);
}

Spawning::Hooks Session::spawning_sides() {
  Spawning::Hooks sides;
  sides.post = [this](nla::Event event) { shell_->post(std::move(event)); };
  sides.more_ranks = [this] { output_.writer().more_ranks(); };
  return sides;
}

void Session::on(const action::FirstFailure& failure) {
  JobOutcome::FirstFailure first;
  first.rank = failure.rank;
  first.host = plan_.host_of(failure.rank);
  first.program = plan_.program_of(failure.rank);
  first.outcome = to_rank_outcome(failure.outcome);
  publish_abort(cat("rank ", first.rank, " on ", first.host, " failed"));
  outcome_.first = std::move(first);
  // The root agent's core then stops the job by itself.
  if (plan_.job.on_failure == nla::OnFailure::kill || failure.outcome.ends_job()) {
    output_.bound_reader(options_.grace);
  }
}

void Session::on(const action::JobEnded& ended) {
  phases_.ended = phase_moment();
  over_ = true;
  stats_ = ended.stats;
  for (const auto& [outcome, ranks] : ended.verdicts) {
    const RankSet counted = ranks.minus(spawning_.unspawned());
    if (counted.empty()) continue;
    records_.add_outcome(outcome, counted);
    // The job was ended before these hosts had an agent: they did not run the command.
    if (plan_.once_per_host && outcome.ending == nla::Ending::cancelled) continue;
    outcome_.add(counted, to_rank_outcome(outcome));
  }
  output_.close();
  timeout_->cancel();
  job_control_.close();
  stdin_->close();
  spawning_.close();
  debugging_.close();
  if (panes_) panes_->close();
  node_losses_.close();
}

JobControl::Hooks Session::job_control_sides() {
  JobControl::Hooks sides;
  sides.post = [this](nla::Event event) { shell_->post(std::move(event)); };
  sides.all_sent = [this] { return shell_->all_sent(); };
  sides.show_stacks = [this] {
    debugging_.show_stacks(options_.stack_traces.value_or(kDefaultStackTime));
  };
  sides.end_job = [this](int signo) { end_by_signal(signo); };
  sides.set_raw = [this](bool raw) {
    output_.writer().set_raw(raw);
    stderr_.set_raw(raw);
  };
  sides.before_stop = [this] { output_.writer().hide_live_view(); };
  return sides;
}

// The first signal goes to the ranks. A second one stops the job at once.
void Session::end_by_signal(int signo) {
  const bool again = outcome_.interrupted.has_value();
  if (!again) outcome_.interrupted = signo;
  log_.say(Subsystem::signal, cat("received ", signal_text(signo)));
  stop(nla::StopCause::signal, signo, again ? std::chrono::milliseconds(0) : options_.grace);
}

void Session::start_timeout() {
  if (!options_.timeout) return;
  timeout_->expires_at(moment_of(phases_.begin) + *options_.timeout);
  timeout_->async_wait([this](const boost::system::error_code& error) {
    if (error || over_ || stopping_) return;
    outcome_.timed_out = *options_.timeout;
    if (!options_.stack_traces) return time_over();
    debugging_.show_stacks(*options_.stack_traces, [this] { time_over(); });
  });
}

void Session::time_over() {
  if (!over_ && !stopping_) stop(nla::StopCause::timeout, SIGTERM, options_.grace);
}

void Session::stop(nla::StopCause cause, int signo, std::chrono::milliseconds grace) {
  stopping_ = true;
  grace.count() == 0 ? output_.drop() : output_.bound_reader(grace);
  shell_->post(event::Stop{cause, signo, static_cast<std::uint32_t>(grace.count())});
}

void Session::input_read(Chunk bytes, bool end) {
  if (end) output_.writer().set_no_input();
  shell_->post(event::StdinRead{std::move(bytes), end});
}

JobOutput::Hooks Session::output_sides() {
  JobOutput::Hooks sides;
  sides.written = [this](std::uint64_t bytes) { shell_->post(event::OutputWritten{bytes}); };
  sides.failed = [this](const Error& error) { output_failed(error); };
  sides.dropped = [this] {
    if (panes_) panes_->discard();
  };
  return sides;
}

void Session::output_failed(const Error& error) {
  if (output_.writer().reader_gone()) {
    // The output has no reader any more (scela-run ... | head). The job ends as by SIGPIPE, without
    // messages. Gathered output meets this only when the ranks have ended.
    if (!outcome_.interrupted && !stopping_ && !outcome_.first) outcome_.interrupted = SIGPIPE;
  } else if (!outcome_.error) {
    outcome_.error = error;
  }
  if (!over_) stop(nla::StopCause::output_failed, SIGTERM, options_.grace);
}

SessionResult Session::finish() {
  stderr_.set_before({});
  // There is no other way to report a node that is lost after its ranks have ended.
  if (!outcome_.error && !outcome_.first) outcome_.error = lost_node_;
  if (shell_->record_error()) record_error_ = shell_->record_error();
  note_late_error(record_error_);
  if (access_.warnings_at_end) {
    for (const std::string& line : access_.warnings_at_end())
      stderr_.write(cat(kProgramName, printable(line, kMaxOwnText), "\n"));
  }
  if (options_.trace) {
    trace_.add_launcher(phases_);
    if (auto written = trace_.write(); !written && !outcome_.error)
      outcome_.error = written.error();
  }
  write_records();
  SessionResult result;
  result.outcome = std::move(outcome_);
  result.ranks_of_programs = std::move(ranks_of_programs_);
  const JobNumbers numbers = numbers_of(plan_, spawning_.unspawned());
  if (options_.stats == StatsFormat::text)
    result.statistics = stats_text(phases_, numbers, stats_, counters_);
  if (options_.stats == StatsFormat::json)
    result.statistics = stats_json(phases_, numbers, stats_, counters_);
  return result;
}

// Reports an error that became known after the job. It is the result only if there is no other one.
void Session::note_late_error(const std::optional<Error>& error) {
  if (error && !outcome_.error && !outcome_.first) {
    outcome_.error = error;
  } else if (error) {
    stderr_.write(cat(kProgramName, printable(error->text()), "\n"));
  }
}

void Session::write_records() {
  if (!options_.json) return;
  records_.end(plan_, outcome_, phases_, output_.reader_deadline());
  output_.finish();
  note_late_error(records_.error());
}

}  // namespace

Result<SessionResult> run_session(const Options& options, Plan plan, HostContacts reach,
                                  const std::string& agent, StderrWriter& log,
                                  std::int64_t began_ns) {
  try {
    return Session(options, std::move(plan), std::move(reach), log, began_ns).run(agent);
  } catch (const boost::system::system_error& error) {
    return fail(Error{ErrorKind::internal, "set the event loop up", "", error.what(),
                      "see whether the limit of open files (ulimit -n) is too low"});
  }
}

}  // namespace scela
