#include "nla/ranks/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "nla/io/poller.h"
#include "nla/pmi/rank_pmi.h"
#include "nla/ranks/engine_helper.h"
#include "nla/ranks/pmix_helper.h"
#include "nla/ranks/pmix_program.h"
#include "nla/ranks/rank_streams.h"
#include "nla/ranks/rank_terminal.h"
#include "nla/ranks/stack_reader.h"
#include "nla/ranks/tool_daemons.h"

namespace scela::nla {

namespace {

// For a job with programs that show no MPI. Most need none, so this is said only if a rank fails.
constexpr char kLacksPmix[] =
    "this node has no PMIx server that can be executed, so that its ranks, one of which has "
    "failed, find PMI-1 and PMI-2, and no PMIx, which Open MPI needs (install libpmix, package "
    "libpmix2, and scela-pmix there, or say --pmi fd if they do not need it)";

// Returns true if this node can serve PMIx, for jobs that may do without.
bool has_pmix(const NodeFacts& node) {
  const Result<PmixProgram> program = PmixProgram::find(node);
  return program && program->runs_here();
}

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

bool ends_programs(int signo) {
  return signo == SIGTERM || signo == SIGKILL || signo == SIGINT || signo == SIGHUP ||
         signo == SIGQUIT;
}

struct RankState {
  explicit RankState(Rank number) : rank(number) {}
  Rank rank;
  pid_t pid = 0;                         // 0: not started, or reaped
  std::uint64_t begun_ns = 0;            // before its process was made
  std::uint64_t started_ns = 0;          // its program was executed
  bool held = false;                     // stopped at its start, and not continued
  std::optional<RankTerminal> terminal;  // while it runs
};

Fd duplicate(const Fd& fd) {
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

struct Ranks::State {
  State(RanksHost lent, const Job& work, const RankSet& ranks, std::string name, std::string error)
      : host(std::move(lent)),
        job(work),
        own(ranks),
        setup_error(std::move(error)),
        poller_watch(host.io),
        streams(host, job, own, name, poller),
        pmi(host, job, own, poller),
        node_name(std::move(name)) {
    states.reserve(own.size());
    add(own);
  }

  void add(const RankSet& more) {
    more.for_each([&](Rank rank) { states.push_back(std::make_unique<RankState>(rank)); });
  }

  ~State() {
    if (poller_watch.is_open()) poller_watch.release();  // the poller owns it
  }

  RankState& of(Rank rank) const { return *states[own.index_of(rank)]; }

  void watch_poller();
  void start_batch();
  void start_one(Rank number);
  void use_terminal(RankState& rank, StartedRank& started);
  void ended(RankState& rank, int status);
  // Worlds are served in the order in which their ranks are to start.
  bool waits_for_server() const {
    return pmix && setup_error.empty() && !to_start.empty() && !pmix->serves(to_start.front());
  }
  void start_server(const NodeFacts& node);
  std::vector<RankProcess> processes() const;
  std::string start_tool(const std::vector<std::string>& words);
  void answer(std::string_view bytes);
  std::string offer_engine(const NodeFacts& node, EngineFacts facts);
  void server_news(std::string why);
  void signal_one(RankState& rank, int signo);
  void release(const RankSet& ranks);
  void set_defaults(const RankSet& more) {
    if (pmix) starter->set_defaults(pmix->defaults(running.size() + more.size()));
  }
  void not_started(Rank rank) {
    streams.close_input(rank);
    host.emit(event::RankNotStarted{rank, ECANCELED, "the job was ended first"});
  }

  RanksHost host;
  const Job& job;
  RankSet own;
  std::string setup_error;
  bool stopped = false;  // by SIGSTOP; new ranks wait for SIGCONT
  RankSet released;      // these are not held at their start any more
  std::optional<RankStarter> starter;
  std::optional<Poller> poller;
  Descriptor poller_watch;
  RankStreams streams;
  RankPmi pmi;
  std::unique_ptr<PmixHelper> pmix;  // for jobs that speak PMIx
  std::unique_ptr<EngineHelper> engine;
  std::string node_name;
  std::unique_ptr<StackReader> stacks;  // while stacks are read
  ToolDaemons tools;
  std::string lacks_pmix;                          // node's name, until warned of no PMIx
  std::string lost_why;                            // why the server of the ranks has ended
  std::vector<std::unique_ptr<RankState>> states;  // by position in own
  std::map<pid_t, RankState*> running;
  std::vector<std::pair<RankState*, int>> early;  // with status, while the server ends
  std::vector<RankUsage> usages;                  // of ranks that have ended
  std::deque<Rank> to_start;
  bool starting = false;
};

// Starting.

void Ranks::State::start_batch() {
  starting = false;
  for (int i = 0; i < kStartBatch && !to_start.empty() && !waits_for_server(); ++i) {
    const Rank rank = to_start.front();
    to_start.pop_front();
    start_one(rank);
  }
  if (!to_start.empty() && !waits_for_server()) {
    starting = true;
    boost::asio::post(host.io, [this] { start_batch(); });
  }
  host.turn_over();
}

// The ranks start once the server serves them.
void Ranks::State::start_server(const NodeFacts& node) {
  pmix = std::make_unique<PmixHelper>(
      host, job, own, node.index, *poller,
      PmixHelper::Reach{[this](Rank rank) { return of(rank).pid; },
                        [this](Rank rank, int signo) { signal_one(of(rank), signo); },
                        [this](const RankSet& ranks) { release(ranks); },
                        [this](Rank rank, Stream stream, const std::string& text) {
                          return streams.insert(rank, stream, text);
                        }},
      [this](std::string why) { server_news(std::move(why)); });
  streams.show_output([this](Rank rank, Stream stream, std::string_view bytes) {
    pmix->output(rank, stream, bytes);
  });
  const Result<void> started = pmix->start(node);
  if (!started) setup_error = started.error().text();
}

// Returns the socket by which ranks find the engine.
std::string Ranks::State::offer_engine(const NodeFacts& node, EngineFacts facts) {
  engine = std::make_unique<EngineHelper>(
      host, job, own,
      EngineHelper::Place{node.name, node.index, node.directory, node.helper_directory},
      std::move(facts), *poller, [this] {
        // A program may ask before there are ranks, or if none can be started.
        return starter ? starter->environment(own.front()) : std::vector<std::string>();
      });
  engine->listen();
  return engine->socket();
}

void Ranks::State::server_news(std::string why) {
  if (!why.empty()) {
    setup_error = lost_why = std::move(why);
    // Ranks that wait for the server, or for each other, would do so for ever.
    for (const auto& [pid, rank] : running)
      ::kill(-pid, SIGKILL);
  }
  if (to_start.empty() || std::exchange(starting, true)) return;
  boost::asio::post(host.io, [this] { start_batch(); });
}

void Ranks::State::start_one(Rank number) {
  RankState& rank = of(number);
  rank.begun_ns = host.clock_ns();
  if (!setup_error.empty()) {
    streams.close_input(number);
    return host.emit(event::RankNotStarted{number, EIO, setup_error});
  }
  rank.held = job.stops_on_exec(number) && !released.contains(number);
  auto started = starter->start(number, rank.held);
  if (!started) {
    streams.close_input(number);
    if (pmix) {
      pmix->note_end(number, Outcome{Ending::not_started, started.error().error, false, false, {}});
    }
    return host.emit(event::RankNotStarted{number, started.error().error, started.error().why});
  }
  rank.pid = started->pid;
  rank.started_ns = host.clock_ns();
  host.tracer.span("start", rank.begun_ns, rank.started_ns, number);
  running.emplace(rank.pid, &rank);
  if (started->terminal) use_terminal(rank, *started);
  streams.open(number, std::move(started->output), std::move(started->error),
               std::move(started->input), rank.terminal ? &*rank.terminal : nullptr);
  pmi.open(number, std::move(started->pmi), rank.pid);
  if (stopped && !rank.held) ::kill(-rank.pid, SIGSTOP);
  if (rank.held && pmix) pmix->rank_stopped(number);
  host.emit(event::RankStarted{number});
  if (rank.terminal) host.emit(event::RankStreamEnded{number, Stream::err});
}

// The poller tells descriptors apart by their numbers, so the input has a descriptor of its own.
void Ranks::State::use_terminal(RankState& rank, StartedRank& started) {
  rank.terminal.emplace(host.io, duplicate(started.output), std::move(started.terminal), rank.pid);
  if (streams.wants_input(rank.rank)) started.input = duplicate(started.output);
}

// Signals the rank's process group.
void Ranks::State::signal_one(RankState& rank, int signo) {
  const auto send = [&](int number) {
    if (rank.terminal) {
      rank.terminal->signal(number);
    } else if (rank.pid != 0) {
      ::kill(-rank.pid, number);
    }
  };
  send(signo);
  if (signo == SIGCONT) rank.held = false;
  // A stopped program would act on it only when it is continued.
  if (ends_programs(signo) && signo != SIGKILL) send(SIGCONT);
}

// If the whole job is stopped, its ranks go on only with the job.
void Ranks::State::release(const RankSet& ranks) {
  released.add(ranks);
  ranks.for_each([&](Rank number) {
    RankState& rank = of(number);
    if (std::exchange(rank.held, false) && !stopped) signal_one(rank, SIGCONT);
  });
}

void Ranks::State::watch_poller() {
  poller_watch.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    poller->dispatch();  // the rest keeps the set readable
    watch_poller();
    host.turn_over();
  });
}

// The end.

void Ranks::State::ended(RankState& rank, int status) {
  // Requests that the rank made before it ended must come before the news of its end.
  pmi.close(rank.rank);
  const bool rank_unfinished = pmix && pmix->rank_ended(rank.rank);
  rank.pid = 0;
  host.tracer.span("run", rank.started_ns, host.clock_ns(), rank.rank);
  Outcome outcome;
  if (WIFSIGNALED(status)) {
    outcome.ending = Ending::signaled;
    outcome.code = WTERMSIG(status);
    outcome.core_dumped = WCOREDUMP(status);
  } else {
    outcome.code = WEXITSTATUS(status);
    if (outcome.code == 0 && (rank_unfinished || pmi.unfinished(rank.rank)))
      outcome.ending = Ending::unfinished;
  }
  if (!lost_why.empty()) outcome = Outcome{Ending::lost, 0, false, false, lost_why};
  if (pmix) pmix->note_end(rank.rank, outcome);
  if (!lacks_pmix.empty() && outcome.ending == Ending::exited && outcome.code != 0)
    host.emit(
        event::Say{{LogLevel::warning, Subsystem::pmi, std::exchange(lacks_pmix, {}), kLacksPmix}});
  if (!outcome.success()) pmi.ended_badly(rank.rank);
  streams.close_input(rank.rank);
  rank.terminal.reset();
  host.emit(event::RankExited{rank.rank, std::move(outcome)});
  if (streams.wants_input(rank.rank)) streams.report_taken();
}

// Looks at ranks (action::InspectRanks).

std::vector<RankProcess> Ranks::State::processes() const {
  std::vector<RankProcess> out;
  for (const auto& [pid, rank] : running) {
    char path[PATH_MAX];
    const ssize_t length = ::readlink(cat("/proc/", pid, "/exe").c_str(), path, sizeof path);
    out.push_back({rank->rank, static_cast<std::uint32_t>(pid),
                   std::string(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0)))});
  }
  return out;
}

std::string Ranks::State::start_tool(const std::vector<std::string>& words) {
  if (!starter) return setup_error;
  std::vector<std::string> environment = starter->environment(own.front());
  environment.push_back(cat("SCELA_JOB_ID=", job.id));
  environment.push_back(cat("SCELA_NODE=", node_name));
  return tools.start(words, std::move(environment), job.wdir);
}

void Ranks::State::answer(std::string_view bytes) {
  do {
    const std::string_view piece = bytes.substr(0, kMaxPiece);
    bytes.remove_prefix(piece.size());
    host.emit(event::Inspected{bytes.empty(), Chunk(std::string(piece))});
  } while (!bytes.empty());
}

void Ranks::inspect(const action::InspectRanks& action) {
  State& state = *state_;
  if (action.what == Inspection::processes) return state.answer(encode(state.processes()));
  if (action.what == Inspection::tool) return state.answer(state.start_tool(action.words));
  std::deque<std::pair<Rank, pid_t>> ranks;
  for (const auto& [pid, rank] : state.running)
    ranks.emplace_back(rank->rank, pid);
  if (ranks.empty() || !state.poller) return state.answer(encode(std::vector<RankStacks>()));
  // A reader that runs is given up with its gdbs: scela-run waits for the last answer only.
  state.stacks =
      std::make_unique<StackReader>(state.host.io, *state.poller, state.node_name, std::move(ranks),
                                    action.limit_ms, [&state](std::vector<RankStacks> stacks) {
                                      cut_texts(stacks, kMaxInspection / 2);
                                      state.answer(encode(stacks));
                                      state.host.turn_over();
                                    });
}

// The interface.

Ranks::Ranks(RanksHost host, const Job& job, const RankSet& own, NodeFacts node, EngineFacts engine,
             std::string setup_error)
    : state_(
          std::make_unique<State>(std::move(host), job, own, node.name, std::move(setup_error))) {
  if (auto port = state_->pmi.listen(
          node.name, [state = state_.get()](Rank rank) { return state->of(rank).pid; })) {
    node.port = *port;
  } else if (state_->setup_error.empty()) {
    state_->setup_error = port.error().text();
  }
  Result<Poller> poller = Poller::create();
  if (poller) {
    state_->poller.emplace(std::move(*poller));
    state_->poller_watch.assign(state_->poller->descriptor());
    state_->watch_poller();
  } else if (state_->setup_error.empty()) {
    state_->setup_error = poller.error().text();
  }
  if (node.pmi == PmiKind::pmix && node.pmi_guessed && !has_pmix(node)) {
    node.pmi = PmiKind::fd;
    node.lacks_pmix = true;
    state_->lacks_pmix = node.name;
  }
  if (node.pmi == PmiKind::pmix && state_->setup_error.empty()) {
    state_->start_server(node);
    node.of_rank = [state = state_.get()](Rank rank) { return state->pmix->environment(rank); };
  }
  if (state_->setup_error.empty()) {
    node.engine_socket = state_->offer_engine(node, std::move(engine));
  }
  Result<RankStarter> starter = RankStarter::create(job, own, std::move(node));
  if (starter) {
    state_->starter.emplace(std::move(*starter));
    state_->set_defaults(own);
  } else if (state_->setup_error.empty()) {
    state_->setup_error = starter.error().text();
  }
}

Ranks::~Ranks() = default;

void Ranks::start(const RankSet& ranks) {
  ranks.for_each([&](Rank rank) { state_->to_start.push_back(rank); });
  if (state_->waits_for_server() || std::exchange(state_->starting, true)) return;
  boost::asio::post(state_->host.io, [state = state_.get()] { state->start_batch(); });
}

void Ranks::add(const RankSet& more) {
  state_->own.add(more);
  state_->add(more);
  state_->streams.add(more);
  state_->pmi.add(more);
  if (!state_->starter) return;
  state_->starter->add(more);
  state_->set_defaults(more);
}

void Ranks::worlds_added() {
  if (state_->pmix) state_->pmix->tell_worlds();
}

void Ranks::bind(const std::map<Rank, CpuSet>& places, const std::map<Rank, DomainSet>& memory) {
  if (state_->starter) state_->starter->bind(places, memory);
}

bool Ranks::end(const RankSet& ranks) {
  bool ends_any = false;
  for (const Rank rank : std::exchange(state_->to_start, {})) {
    if (ranks.contains(rank)) {
      state_->not_started(rank);
      ends_any = true;
    } else {
      state_->to_start.push_back(rank);
    }
  }
  for (const auto& [pid, rank] : state_->running) {
    if (!ranks.contains(rank->rank)) continue;
    ::kill(-pid, SIGKILL);
    ends_any = true;
  }
  return ends_any;
}

bool Ranks::signal(int signo) {
  const bool ends_any =
      ends_programs(signo) && !(state_->running.empty() && state_->to_start.empty());
  if (ends_programs(signo)) cancel_starts();
  if (signo == SIGSTOP) state_->stopped = true;
  if (signo == SIGCONT) state_->released.add(state_->own);
  if (signo == SIGCONT || ends_programs(signo)) state_->stopped = false;
  const bool asks = ends_programs(signo) && signo != SIGKILL;
  for (const auto& [pid, rank] : state_->running) {
    state_->signal_one(*rank, signo);
    if (asks && rank->terminal) {
      rank->terminal->hang_up_after(std::chrono::milliseconds(state_->job.grace_ms / 2));
    }
  }
  return ends_any;
}

void Ranks::cancel_starts() {
  for (const Rank rank : std::exchange(state_->to_start, {}))
    state_->not_started(rank);
}

void Ranks::reply(const action::Reply& reply) {
  // These requests need no reply.
  if (reply.id == kEngineRequest || reply.id == kLeftRequest) return;
  if (state_->engine && state_->engine->heard(reply)) return;
  if (state_->pmi.heard(reply)) return;
  if (state_->pmix && state_->pmix->reply(reply)) return;
  state_->pmi.reply(reply);
}

void Ranks::allow_output(std::uint64_t bytes) {
  state_->streams.allow_output(bytes);
}

void Ranks::drop_streams() {
  state_->streams.drop_output();
}

void Ranks::write_stdin(const Chunk& bytes, bool end) {
  state_->streams.write_input(bytes, end);
}

void Ranks::resize(const WindowSize& size) {
  if (state_->starter) state_->starter->set_window(size);
  for (const auto& [pid, rank] : state_->running) {
    if (rank->terminal) rank->terminal->resize(size);
  }
}

void Ranks::set_pmi_reading(bool on) {
  state_->pmi.set_reading(on);
  if (state_->pmix) state_->pmix->set_reading(on);
}

void Ranks::peers_failed(const RankSet& ranks) {
  if (state_->pmix) state_->pmix->peers_failed(ranks);
}

void Ranks::nodes_lost(const RankSet& nodes) {
  if (state_->pmix) state_->pmix->nodes_lost(nodes);
}

void Ranks::reconnected(const RankSet& ranks) {
  if (state_->pmix) state_->pmix->reconnected(ranks);
}

void Ranks::let_servers_go() {
  state_->tools.let_go();
  if (state_->engine) state_->engine->let_go();
  if (state_->pmix) state_->pmix->let_go();
}

const std::vector<RankUsage>& Ranks::usages() const {
  return state_->usages;
}

bool Ranks::reaped(pid_t pid, int status, const rusage& usage) {
  if (state_->stacks && state_->stacks->reaped(pid)) return true;
  if (state_->tools.reaped(pid)) return true;
  if (state_->engine && state_->engine->reaped(pid, status)) return true;
  if (state_->pmix && state_->pmix->reaped(pid, status)) {
    for (const auto& [rank, how] : std::exchange(state_->early, {}))
      state_->ended(*rank, how);
    return true;
  }
  const auto at = state_->running.find(pid);
  if (at == state_->running.end()) return false;
  RankState& rank = *at->second;
  state_->running.erase(at);
  state_->usages.push_back(usage_of(rank.rank, state_->host.clock_ns() - rank.begun_ns, usage));
  // In this case the server's end is the cause, whatever status the rank has ended with.
  if (state_->pmix && state_->pmix->ending()) {
    rank.pid = 0;
    state_->early.emplace_back(&rank, status);
    return true;
  }
  state_->ended(rank, status);
  return true;
}

}  // namespace scela::nla
