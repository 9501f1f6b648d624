#include "nla/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "common/core/line_marks.h"
#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/poller.h"
#include "nla/rank_terminal.h"
#include "pmi/server/job_services.h"
#include "pmi/server/line_server.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Answers that a rank has not read. A well-behaved one has one request in flight.
constexpr std::size_t kMaxUnreadAnswers = std::size_t{64} * 1024;

bool ends_programs(int signo) {
  return signo == SIGTERM || signo == SIGKILL || signo == SIGINT || signo == SIGHUP ||
         signo == SIGQUIT;
}

// A label of this length and no more is no reason to read less at once.
constexpr std::size_t kUsualMark = 32;

// Told what happens to a descriptor of a rank.
class EndListener {
 public:
  virtual void on_ready(Rank rank, int which, bool readable, bool writable) = 0;

 protected:
  ~EndListener() = default;
};

// Our end of something that leads to a rank. `which` is the descriptor's number in the rank.
struct RankEnd final : Poller::Watcher {
  RankEnd(EndListener& told, Rank number, int descriptor)
      : listener(told), rank(number), which(descriptor) {}
  void ready(bool readable, bool writable) override {
    if (fd) listener.on_ready(rank, which, readable, writable);  // it may have been closed since
  }
  // Asks to be told; what is asked already costs nothing.
  void watch(Poller& poller, bool read, bool write) {
    if (!fd || (read == reading && write == writing)) return;
    const bool before = reading || writing;
    if (!read && !write) {
      poller.forget(fd.get());
    } else if (before) {
      poller.change(fd.get(), read, write, *this);
    } else {
      poller.watch(fd.get(), read, write, *this);
    }
    reading = read;
    writing = write;
  }
  void close() {
    fd.reset();
    reading = writing = false;
  }

  EndListener& listener;
  Rank rank;
  int which;
  Fd fd;
  bool reading = false;
  bool writing = false;
};

// One of a rank's output pipes.
struct OutputPipe {
  RankEnd end;
  Stream stream;
  bool starved = false;       // waits for credit
  bool at_line_start = true;  // of what was read
  bool marked = false;        // lines begin with label or time
};

// The pipe to a rank's standard input.
struct InputPipe {
  RankEnd end;
  std::deque<Chunk> queue;
  std::size_t offset = 0;   // of the queue's front, written already
  std::uint64_t taken = 0;  // bytes, in all
  bool wanted = false;      // the rank is one of Job::stdin_ranks
  bool last = false;        // close when the queue is empty
  bool closed = false;      // the rank takes no more; what comes counts as taken
};

struct PmiConnection {
  RankEnd end;
  pmi::LineServer server;
  std::string output;
  const char* asked = nullptr;  // what the outstanding request is called in the trace
  std::uint64_t asked_ns = 0;
};

struct RankState {
  RankState(EndListener& listener, pmi::JobServices& services, Rank number)
      : rank(number),
        out{{listener, number, 1}, Stream::out},
        err{{listener, number, 2}, Stream::err},
        in{{listener, number, 0}, {}},
        pmi{{listener, number, 3}, {services, number}, {}} {}
  Rank rank;
  pid_t pid = 0;  // 0: not started, or reaped
  std::uint64_t started_ns = 0;
  OutputPipe out;
  OutputPipe err;
  InputPipe in;
  PmiConnection pmi;
  std::optional<RankTerminal> terminal;  // while it runs; `out` and `in` lead to it
};

}  // namespace

struct Ranks::State final : pmi::JobServices, EndListener {
  State(RanksHost lent, const Job& work, const RankSet& ranks, std::string error)
      : host(std::move(lent)),
        job(work),
        own(ranks),
        setup_error(std::move(error)),
        poller_watch(host.io) {
    states.reserve(own.size());
    own.for_each([&](Rank rank) {
      states.push_back(std::make_unique<RankState>(*this, *this, rank));
      states.back()->in.wanted = job.stdin_ranks.contains(rank);
      // What goes to a terminal is no lines.
      const bool marks =
          (job.label != Label::none || job.timestamps) && !job.terminal_ranks.contains(rank);
      states.back()->out.marked = marks && !job.plain_output;
      states.back()->err.marked = marks;
    });
  }

  ~State() override {
    if (poller_watch.is_open()) poller_watch.release();  // the poller owns it
  }

  RankState& of(Rank rank) const { return *states[own.index_of(rank)]; }

  void watch_poller();
  void on_ready(Rank number, int which, bool readable, bool writable) override;

  // pmi::JobServices
  pmi::JobFacts facts(Rank rank) const override;
  void put(Rank rank, pmi::RequestId id, std::string key, std::string value) override;
  void get(Rank rank, pmi::RequestId id, std::string key, bool wait) override;
  void fence(Rank rank, pmi::RequestId id) override;
  void abort(Rank rank, std::int32_t code, std::string message) override;
  void violation(Rank rank, std::string why) override;
  void ask(Rank rank, pmi::RequestId id, const char* name, Request request);

  void start_batch();
  void start_one(Rank number);
  void use_terminal(RankState& rank, Fd theirs);
  std::string mark_of(Rank rank) const;
  void read_output(RankState& rank, OutputPipe& pipe);
  void end_output(RankState& rank, OutputPipe& pipe);
  void watch_pmi(RankState& rank);
  void read_pmi(RankState& rank);
  void flush_pmi(RankState& rank);
  void flush_input(RankState& rank);
  void close_input(RankState& rank);
  void report_taken();
  void ended(RankState& rank, int status);

  RanksHost host;
  const Job& job;
  RankSet own;
  std::string setup_error;
  std::optional<RankStarter> starter;
  std::optional<Poller> poller;
  Descriptor poller_watch;
  std::vector<std::unique_ptr<RankState>> states;  // by position in own
  std::map<pid_t, RankState*> running;
  std::deque<Rank> to_start;
  bool starting = false;
  // Bytes of output that may be emitted. What is put before the lines may take it below zero.
  std::int64_t credit = 0;
  std::string node_name;
  std::uint64_t stdin_received = 0;
  std::uint64_t stdin_reported = 0;
  bool pmi_reading = true;
  bool stopped = false;  // by SIGSTOP: ranks that start meanwhile wait for SIGCONT too
};

// Starting.

void Ranks::State::start_batch() {
  starting = false;
  for (int i = 0; i < kStartBatch && !to_start.empty(); ++i) {
    const Rank rank = to_start.front();
    to_start.pop_front();
    start_one(rank);
  }
  if (!to_start.empty()) {
    starting = true;
    boost::asio::post(host.io, [this] { start_batch(); });
  }
  host.turn_over();
}

void Ranks::State::start_one(Rank number) {
  RankState& rank = of(number);
  const std::uint64_t before = host.clock_ns();
  if (!setup_error.empty()) {
    close_input(rank);
    return host.emit(event::RankNotStarted{number, EIO, setup_error});
  }
  auto started = starter->start(number);
  if (!started) {
    close_input(rank);
    return host.emit(event::RankNotStarted{number, started.error().error, started.error().why});
  }
  rank.pid = started->pid;
  rank.started_ns = host.clock_ns();
  host.tracer.span("start", before, rank.started_ns, number);
  running.emplace(rank.pid, &rank);
  rank.out.end.fd = std::move(started->output);
  rank.err.end.fd = std::move(started->error);
  rank.pmi.end.fd = std::move(started->pmi);
  if (started->terminal) use_terminal(rank, std::move(started->terminal));
  if (started->input) {
    set_nonblocking(started->input.get());
    rank.in.end.fd = std::move(started->input);
    flush_input(rank);
  }
  rank.out.end.watch(*poller, true, false);
  rank.err.end.watch(*poller, true, false);
  watch_pmi(rank);
  if (stopped) ::kill(-rank.pid, SIGSTOP);
  host.emit(event::RankStarted{number});
  if (rank.terminal) host.emit(event::RankStreamEnded{number, Stream::err});
}

// The poller tells descriptors apart by their numbers: input has one of its own.
void Ranks::State::use_terminal(RankState& rank, Fd theirs) {
  const auto another = [&] { return Fd(::fcntl(rank.out.end.fd.get(), F_DUPFD_CLOEXEC, 0)); };
  rank.terminal.emplace(host.io, another(), std::move(theirs), rank.pid);
  if (!rank.in.wanted) return;
  rank.in.end.fd = another();
  flush_input(rank);
}

// Readiness.

void Ranks::State::watch_poller() {
  poller_watch.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    poller->dispatch();  // what is left keeps the set readable
    watch_poller();
    host.turn_over();
  });
}

void Ranks::State::on_ready(Rank number, int which, bool readable, bool writable) {
  RankState& rank = of(number);
  if (which == 1 && readable) read_output(rank, rank.out);
  if (which == 2 && readable) read_output(rank, rank.err);
  if (which == 0 && writable) {
    flush_input(rank);
    report_taken();
  }
  if (which != 3) return;
  if (writable && rank.pmi.end.writing) flush_pmi(rank);
  if (readable && rank.pmi.end.reading) read_pmi(rank);
}

// Standard output and error.

// What stands before a line that is read now.
std::string Ranks::State::mark_of(Rank rank) const {
  std::string mark;
  if (job.label == Label::rank) mark = cat(padded_rank(rank, job.map.size()), ": ");
  if (job.label == Label::host) mark = cat(node_name, ": ");
  if (job.timestamps) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    mark += cat(clock_text(ns, job.ahead_s), " ");
  }
  return mark;
}

void Ranks::State::read_output(RankState& rank, OutputPipe& pipe) {
  if (credit <= 0) {
    pipe.starved = true;
    pipe.end.watch(*poller, false, false);
    return;
  }
  const std::string mark = pipe.marked ? mark_of(rank.rank) : std::string();
  // Many short lines become long by what stands before them: less is read at once.
  const std::uint64_t most = std::min<std::uint64_t>({static_cast<std::uint64_t>(credit),
                                                      kMaxPiece / (1 + mark.size() / kUsualMark),
                                                      sizeof host.buffer.bytes});
  const ssize_t got = retry(
      [&] { return ::read(pipe.end.fd.get(), host.buffer.bytes, static_cast<size_t>(most)); });
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return end_output(rank, pipe);
  std::string text(host.buffer.bytes, static_cast<std::size_t>(got));
  if (pipe.marked) {
    std::string marked;
    mark_lines(text, mark, pipe.at_line_start, marked);
    text = std::move(marked);
  }
  credit -= static_cast<std::int64_t>(text.size());
  const Chunk all(std::move(text));
  for (std::size_t at = 0; at < all.size(); at += kMaxPiece) {
    host.emit(event::RankOutput{rank.rank, pipe.stream, all.slice(at, kMaxPiece)});
  }
}

void Ranks::State::end_output(RankState& rank, OutputPipe& pipe) {
  if (!pipe.end.fd) return;
  pipe.end.close();
  pipe.starved = false;
  host.emit(event::RankStreamEnded{rank.rank, pipe.stream});
}

// PMI.

void Ranks::State::watch_pmi(RankState& rank) {
  PmiConnection& pmi = rank.pmi;
  // Who asks without reading the answers is not read either.
  const bool read = pmi_reading && !pmi.server.broken() && pmi.output.size() <= kMaxUnreadAnswers;
  pmi.end.watch(*poller, read, !pmi.output.empty());
}

// Takes what is there, one buffer of it.
void Ranks::State::read_pmi(RankState& rank) {
  PmiConnection& pmi = rank.pmi;
  const ssize_t got = retry([&] {
    return ::recv(pmi.end.fd.get(), host.buffer.bytes, sizeof host.buffer.bytes, MSG_DONTWAIT);
  });
  if (got > 0) {
    pmi.server.receive({host.buffer.bytes, static_cast<std::size_t>(got)});
    flush_pmi(rank);
  } else if (got == 0 || errno != EAGAIN) {
    pmi.server.closed();
    pmi.end.close();
  }
}

void Ranks::State::flush_pmi(RankState& rank) {
  PmiConnection& pmi = rank.pmi;
  pmi.output += pmi.server.take_output();
  while (!pmi.output.empty() && pmi.end.fd) {
    const ssize_t wrote = retry([&] {
      return ::send(pmi.end.fd.get(), pmi.output.data(), pmi.output.size(),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0) {
      pmi.output.clear();  // it does not listen any more; its end is read
    } else {
      pmi.output.erase(0, static_cast<std::size_t>(wrote));
    }
  }
  watch_pmi(rank);
}

pmi::JobFacts Ranks::State::facts(Rank rank) const {
  pmi::JobFacts facts;
  facts.rank = rank;
  facts.size = job.map.size();
  facts.appnum = static_cast<std::int32_t>(job.app_of(rank));
  facts.universe_size = facts.size;
  facts.kvsname = job.id;
  facts.process_mapping = job.map.process_mapping();
  return facts;
}

void Ranks::State::ask(Rank rank, pmi::RequestId id, const char* name, Request request) {
  if (name != nullptr) {
    of(rank).pmi.asked = name;
    of(rank).pmi.asked_ns = host.clock_ns();
  }
  host.emit(event::Asked{rank, id, std::move(request)});
}

void Ranks::State::put(Rank rank, pmi::RequestId id, std::string key, std::string value) {
  ask(rank, id, "put", ask::Put{std::move(key), Chunk(std::move(value))});
}

void Ranks::State::get(Rank rank, pmi::RequestId id, std::string key, bool wait) {
  ask(rank, id, "get", ask::Get{std::move(key), wait});
}

void Ranks::State::fence(Rank rank, pmi::RequestId id) {
  ask::Collective fence;
  fence.kind = CollectiveKind::fence;
  fence.set = RankSet::run(0, job.map.size());
  ask(rank, id, "fence", std::move(fence));
}

void Ranks::State::abort(Rank rank, std::int32_t code, std::string message) {
  ask(rank, 0, nullptr, ask::Abort{code, std::move(message)});
}

void Ranks::State::violation(Rank rank, std::string why) {
  ask(rank, 0, nullptr, ask::Violation{std::move(why)});
}

// Standard input.

void Ranks::State::flush_input(RankState& rank) {
  InputPipe& in = rank.in;
  bool full = false;
  while (!in.closed && in.end.fd && !full && !in.queue.empty()) {
    const std::string_view rest = in.queue.front().view().substr(in.offset);
    const ssize_t wrote = retry([&] { return ::write(in.end.fd.get(), rest.data(), rest.size()); });
    if (wrote >= 0) {
      in.taken += static_cast<std::uint64_t>(wrote);
      in.offset += static_cast<std::size_t>(wrote);
      if (static_cast<std::size_t>(wrote) < rest.size()) continue;
      in.queue.pop_front();
      in.offset = 0;
    } else if (errno == EAGAIN) {
      full = true;
    } else {
      close_input(rank);  // EPIPE: it does not read, so it misses nothing
      host.emit(event::StdinClosed{rank.rank});
    }
  }
  if (in.last && in.queue.empty() && in.end.fd) {
    if (rank.terminal) {
      rank.terminal->end_input();
    } else {
      close_input(rank);
    }
  }
  in.end.watch(*poller, false, full);
}

void Ranks::State::close_input(RankState& rank) {
  rank.in.closed = true;
  rank.in.queue.clear();
  rank.in.end.close();
}

void Ranks::State::report_taken() {
  std::uint64_t least = stdin_received;
  for (const auto& rank : states) {
    if (rank->in.wanted && !rank->in.closed) least = std::min(least, rank->in.taken);
  }
  if (least > stdin_reported) {
    stdin_reported = least;
    host.emit(event::StdinTaken{least});
  }
}

// The end.

void Ranks::State::ended(RankState& rank, int status) {
  // What it asked before it ended must come before the news that it ended.
  if (rank.pmi.end.fd) {
    // Only what is there now: a process that it left behind may go on writing.
    int left = 0;
    ::ioctl(rank.pmi.end.fd.get(), FIONREAD, &left);
    while (left > 0 && !rank.pmi.server.broken()) {
      const std::size_t most = std::min(static_cast<std::size_t>(left), sizeof host.buffer.bytes);
      const ssize_t got = ::recv(rank.pmi.end.fd.get(), host.buffer.bytes, most, MSG_DONTWAIT);
      if (got <= 0) break;
      left -= static_cast<int>(got);
      rank.pmi.server.receive({host.buffer.bytes, static_cast<std::size_t>(got)});
    }
    rank.pmi.server.closed();
    rank.pmi.end.close();
  }
  rank.pid = 0;
  host.tracer.span("run", rank.started_ns, host.clock_ns(), rank.rank);
  Outcome outcome;
  if (WIFSIGNALED(status)) {
    outcome.ending = Ending::signaled;
    outcome.code = WTERMSIG(status);
    outcome.core_dumped = WCOREDUMP(status);
  } else {
    outcome.code = WEXITSTATUS(status);
    if (outcome.code == 0 && rank.pmi.server.unfinished()) outcome.ending = Ending::unfinished;
  }
  close_input(rank);
  rank.terminal.reset();
  host.emit(event::RankExited{rank.rank, std::move(outcome)});
  if (rank.in.wanted) report_taken();
}

// The interface.

Ranks::Ranks(RanksHost host, const Job& job, const RankSet& own, NodeFacts node,
             std::string setup_error)
    : state_(std::make_unique<State>(std::move(host), job, own, std::move(setup_error))) {
  state_->node_name = node.name;
  Result<RankStarter> starter = RankStarter::create(job, own, std::move(node));
  if (starter) {
    state_->starter.emplace(std::move(*starter));
  } else if (state_->setup_error.empty()) {
    state_->setup_error = starter.error().text();
  }
  Result<Poller> poller = Poller::create();
  if (poller) {
    state_->poller.emplace(std::move(*poller));
    state_->poller_watch.assign(state_->poller->descriptor());
    state_->watch_poller();
  } else if (state_->setup_error.empty()) {
    state_->setup_error = poller.error().text();
  }
}

Ranks::~Ranks() = default;

void Ranks::start(const RankSet& ranks) {
  ranks.for_each([&](Rank rank) { state_->to_start.push_back(rank); });
  if (std::exchange(state_->starting, true)) return;
  boost::asio::post(state_->host.io, [state = state_.get()] { state->start_batch(); });
}

void Ranks::signal(int signo) {
  if (ends_programs(signo)) cancel_starts();
  if (signo == SIGSTOP) state_->stopped = true;
  if (signo == SIGCONT || ends_programs(signo)) state_->stopped = false;
  const bool asks = ends_programs(signo) && signo != SIGKILL;
  for (const auto& [pid, rank] : state_->running) {
    const auto send = [&, group = -pid, one = rank](int number) {
      if (one->terminal) {
        one->terminal->signal(number);
      } else {
        ::kill(group, number);
      }
    };
    send(signo);
    // A stopped program would act on it only when it is continued.
    if (asks) send(SIGCONT);
    if (asks && rank->terminal) {
      rank->terminal->hang_up_after(std::chrono::milliseconds(state_->job.grace_ms / 2));
    }
  }
}

void Ranks::cancel_starts() {
  for (const Rank rank : std::exchange(state_->to_start, {})) {
    state_->close_input(state_->of(rank));
    state_->host.emit(event::RankNotStarted{rank, ECANCELED, "the job was ended first"});
  }
}

void Ranks::reply(const action::Reply& reply) {
  RankState& rank = state_->of(reply.rank);
  if (rank.pmi.asked != nullptr) {
    state_->host.tracer.span(std::exchange(rank.pmi.asked, nullptr), rank.pmi.asked_ns,
                             state_->host.clock_ns(), reply.rank);
  }
  pmi::Answer answer;
  answer.ok = reply.response.ok;
  answer.error = reply.response.error;
  answer.found = reply.response.found;
  if (!reply.response.parts.empty()) answer.value = reply.response.parts.front().view();
  rank.pmi.server.answered(reply.id, answer);
  state_->flush_pmi(rank);
}

void Ranks::allow_output(std::uint64_t bytes) {
  state_->credit += static_cast<std::int64_t>(bytes);
  if (state_->credit <= 0) return;
  for (const auto& rank : state_->states) {
    for (OutputPipe* pipe : {&rank->out, &rank->err}) {
      if (std::exchange(pipe->starved, false)) pipe->end.watch(*state_->poller, true, false);
    }
  }
}

void Ranks::drop_streams() {
  for (const auto& rank : state_->states) {
    state_->end_output(*rank, rank->out);
    state_->end_output(*rank, rank->err);
  }
}

void Ranks::write_stdin(const Chunk& bytes, bool end) {
  state_->stdin_received += bytes.size();
  for (const auto& rank : state_->states) {
    InputPipe& in = rank->in;
    if (!in.wanted || in.closed) continue;
    if (!bytes.empty()) in.queue.push_back(bytes);
    in.last = in.last || end;
    state_->flush_input(*rank);
  }
  state_->report_taken();
}

void Ranks::resize(const WindowSize& size) {
  if (state_->starter) state_->starter->set_window(size);
  for (const auto& [pid, rank] : state_->running) {
    if (rank->terminal) rank->terminal->resize(size);
  }
}

void Ranks::set_pmi_reading(bool on) {
  if (std::exchange(state_->pmi_reading, on) == on || !on) return;
  for (const auto& rank : state_->states)
    state_->watch_pmi(*rank);
}

bool Ranks::reaped(pid_t pid, int status) {
  const auto at = state_->running.find(pid);
  if (at == state_->running.end()) return false;
  RankState& rank = *at->second;
  state_->running.erase(at);
  state_->ended(rank, status);
  return true;
}

}  // namespace scela::nla
