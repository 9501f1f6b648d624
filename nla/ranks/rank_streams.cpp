#include "nla/ranks/rank_streams.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "common/core/line_marks.h"
#include "common/core/text.h"
#include "common/os/syscall.h"
#include "nla/core/tree/output_piece.h"
#include "nla/core/wire/terminal_input.h"
#include "nla/io/rank_end.h"

namespace scela::nla {

namespace {

// A label of at most this length is no reason to read less at once.
constexpr std::size_t kUsualMark = 32;
// Keys that are kept for a rank that does not read. More would only make the rank act later on what
// was typed long before.
constexpr std::size_t kMaxUnread = std::size_t{64} * 1024;
// Bytes of inserted text that are kept on each stream.
constexpr std::size_t kMaxInserted = std::size_t{64} * 1024;

// One of a rank's output pipes.
struct OutputPipe {
  RankEnd end;
  Stream stream;
  bool starved = false;       // is one of State::starved
  bool at_line_start = true;  // of the bytes read
  bool marked = false;        // lines begin with label or time
  std::string inserted = {};  // waits for credit
};

// The pipe to a rank's standard input.
struct InputPipe {
  RankEnd end;
  std::deque<Chunk> queue;
  std::size_t offset = 0;   // written bytes of the queue's front
  std::uint64_t taken = 0;  // bytes, in all
  bool wanted = false;      // the rank is one of Job::stdin_ranks
  bool last = false;        // close when the queue is empty
  bool closed = false;      // input counts as taken from now on
};

struct OneRank {
  OneRank(EndListener& listener, Rank number)
      : rank(number),
        out{{listener, number, 1}, Stream::out},
        err{{listener, number, 2}, Stream::err},
        in{{listener, number, 0}, {}} {}
  // Returns the number of keys that wait until the rank reads.
  std::size_t unread() const {
    std::size_t bytes = 0;
    for (const Chunk& chunk : in.queue)
      bytes += chunk.size();
    return bytes - in.offset;
  }

  Rank rank;
  OutputPipe out;
  OutputPipe err;
  InputPipe in;
  RankTerminal* terminal = nullptr;  // while it runs; `out` and `in` lead to it
  // Its terminal was told this before the rank was started.
  std::optional<WindowSize> size;
  bool hung_up = false;
};

}  // namespace

struct RankStreams::State final : EndListener {
  State(const RanksHost& lent, const Job& work, const RankSet& ranks, std::string name,
        std::optional<Poller>& set)
      : host(lent), job(work), own(ranks), node_name(std::move(name)), poller(set) {
    states.reserve(own.size());
    add(own);
  }

  void add(const RankSet& more) {
    more.for_each([&](Rank rank) {
      states.push_back(std::make_unique<OneRank>(*this, rank));
      states.back()->in.wanted = job.stdin_ranks.contains(rank);
      // Output to a terminal is not marked by lines.
      const bool marks =
          (!job.label.empty() || job.timestamps) && !job.terminal_ranks.contains(rank);
      states.back()->out.marked = marks && !job.plain_output;
      states.back()->err.marked = marks;
    });
  }

  OneRank& of(Rank rank) const { return *states[own.index_of(rank)]; }

  void on_ready(Rank number, int which, bool readable, bool writable) override;
  std::string mark_of(Rank rank, Stream stream) const;
  void starve(OneRank& rank, OutputPipe& pipe);
  void feed_starved();
  bool read_output(OneRank& rank, OutputPipe& pipe);
  void emit_output(OneRank& rank, OutputPipe& pipe, const std::string& mark, std::string text);
  void emit_inserted(OneRank& rank, OutputPipe& pipe);
  void end_output(OneRank& rank, OutputPipe& pipe);
  void flush_input(OneRank& rank);
  void close_input(OneRank& rank);
  void report_taken();
  void take_record(const TerminalInput& record);

  const RanksHost& host;
  const Job& job;
  const RankSet& own;
  const std::string node_name;
  std::optional<Poller>& poller;
  OutputTap tap;                                 // may be absent
  std::vector<std::unique_ptr<OneRank>> states;  // by position in own
  // Bytes of output that may be emitted. The marks before the lines may take it below zero.
  std::int64_t credit = 0;
  // The streams that wait for credit, in the order in which they are read when it comes. They are
  // not watched: watching and forgetting all streams of a node for each credit would cost more than
  // a read that finds nothing.
  std::deque<std::pair<OneRank*, OutputPipe*>> starved;
  TerminalInputReader records;  // with Job::input_by_rank
  std::uint64_t stdin_received = 0;
  std::uint64_t stdin_reported = 0;
};

void RankStreams::State::on_ready(Rank number, int which, bool readable, bool writable) {
  OneRank& rank = of(number);
  for (OutputPipe* pipe : {&rank.out, &rank.err}) {
    if (!readable || which != (pipe == &rank.out ? 1 : 2) || pipe->starved) continue;
    if (credit > 0) {
      read_output(rank, *pipe);
    } else {
      starve(rank, *pipe);
    }
  }
  if (which == 0 && writable) {
    flush_input(rank);
    report_taken();
  }
}

// Standard output and error.

// Returns the text that stands before a line that is read now.
std::string RankStreams::State::mark_of(Rank rank, Stream stream) const {
  std::string mark;
  if (!job.label.empty()) {
    mark = stream_pattern_text(
        job.label, {node_name, job.map.node_of(rank).value_or(0), rank, job.map_of_world(0).size(),
                    job.id, stream == Stream::out ? "out" : "err"});
  }
  if (job.timestamps) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    mark += cat(clock_text(ns, job.ahead_s), " ");
  }
  return mark;
}

// Reads the stream when there is credit again.
void RankStreams::State::starve(OneRank& rank, OutputPipe& pipe) {
  pipe.end.watch(*poller, false, false);
  if (!std::exchange(pipe.starved, true)) starved.emplace_back(&rank, &pipe);
}

// Spends credit on the streams that wait for it, in turns. A stream that has nothing to read is
// watched again.
void RankStreams::State::feed_starved() {
  while (credit > 0 && !starved.empty()) {
    const auto [rank, pipe] = starved.front();
    starved.pop_front();
    pipe->starved = false;
    if (!pipe->end.fd) continue;  // it has ended
    if (read_output(*rank, *pipe)) {
      starve(*rank, *pipe);
    } else {
      pipe->end.watch(*poller, true, false);
    }
  }
}

// Reads once, within the credit, of which there must be some. Returns true if there was something.
bool RankStreams::State::read_output(OneRank& rank, OutputPipe& pipe) {
  const std::string mark = pipe.marked ? mark_of(rank.rank, pipe.stream) : std::string();
  // The marks make many short lines long, so less is read at once.
  const std::uint64_t most = std::min<std::uint64_t>({static_cast<std::uint64_t>(credit),
                                                      kOutputPiece / (1 + mark.size() / kUsualMark),
                                                      sizeof host.buffer.bytes});
  const ssize_t got = retry(
      [&] { return ::read(pipe.end.fd.get(), host.buffer.bytes, static_cast<size_t>(most)); });
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    end_output(rank, pipe);
    return false;
  }
  if (tap) tap(rank.rank, pipe.stream, {host.buffer.bytes, static_cast<std::size_t>(got)});
  emit_output(rank, pipe, mark, std::string(host.buffer.bytes, static_cast<std::size_t>(got)));
  return true;
}

void RankStreams::State::emit_output(OneRank& rank, OutputPipe& pipe, const std::string& mark,
                                     std::string text) {
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

void RankStreams::State::emit_inserted(OneRank& rank, OutputPipe& pipe) {
  if (pipe.inserted.empty()) return;
  emit_output(rank, pipe, mark_of(rank.rank, pipe.stream), std::exchange(pipe.inserted, {}));
}

void RankStreams::State::end_output(OneRank& rank, OutputPipe& pipe) {
  if (!pipe.end.fd) return;
  pipe.end.close();
  emit_inserted(rank, pipe);
  host.emit(event::RankStreamEnded{rank.rank, pipe.stream});
}

// Standard input.

void RankStreams::State::flush_input(OneRank& rank) {
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
      close_input(rank);  // EPIPE: it does not read, misses nothing
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

void RankStreams::State::close_input(OneRank& rank) {
  rank.in.closed = true;
  rank.in.queue.clear();
  rank.in.end.close();
}

void RankStreams::State::report_taken() {
  std::uint64_t least = stdin_received;
  for (const auto& rank : states) {
    // Otherwise a rank that does not read would keep the keys of the others.
    if (job.input_by_rank) break;
    if (rank->in.wanted && !rank->in.closed) least = std::min(least, rank->in.taken);
  }
  if (least > stdin_reported) {
    stdin_reported = least;
    host.emit(event::StdinTaken{least});
  }
}

// Takes a record of Job::input_by_rank, which may be for a rank of another node.
void RankStreams::State::take_record(const TerminalInput& record) {
  if (!own.contains(record.rank) || !job.terminal_ranks.contains(record.rank)) return;
  OneRank& rank = of(record.rank);
  switch (record.kind) {
    case TerminalInput::Kind::keys:
      if (rank.in.closed || rank.unread() + record.keys.size() > kMaxUnread) return;
      rank.in.queue.emplace_back(record.keys);
      return flush_input(rank);
    case TerminalInput::Kind::size:
      if (rank.terminal == nullptr) {
        rank.size = record.size;
      } else {
        rank.terminal->resize(record.size);
      }
      return;
    case TerminalInput::Kind::hang_up:
      rank.hung_up = true;
      if (rank.terminal != nullptr) rank.terminal->hang_up_after(std::chrono::milliseconds(0));
      return;
  }
}

// The interface.

RankStreams::RankStreams(const RanksHost& host, const Job& job, const RankSet& own,
                         std::string node_name, std::optional<Poller>& poller)
    : state_(std::make_unique<State>(host, job, own, std::move(node_name), poller)) {}

RankStreams::~RankStreams() = default;

void RankStreams::add(const RankSet& more) {
  state_->add(more);
}

bool RankStreams::wants_input(Rank rank) const {
  return state_->of(rank).in.wanted;
}

void RankStreams::open(Rank number, Fd output, Fd error, Fd input, RankTerminal* terminal) {
  OneRank& rank = state_->of(number);
  rank.terminal = terminal;
  // Streams that wait for credit are read without a look whether they have something.
  for (const Fd* end : {&output, &error})
    if (*end) set_nonblocking(end->get());
  if (terminal != nullptr && rank.size) terminal->resize(*rank.size);
  if (terminal != nullptr && rank.hung_up) terminal->hang_up_after(std::chrono::milliseconds(0));
  rank.out.end.fd = std::move(output);
  rank.err.end.fd = std::move(error);
  if (input) {
    set_nonblocking(input.get());
    rank.in.end.fd = std::move(input);
    state_->flush_input(rank);
  }
  rank.out.end.watch(*state_->poller, true, false);
  rank.err.end.watch(*state_->poller, true, false);
}

void RankStreams::allow_output(std::uint64_t bytes) {
  state_->credit += static_cast<std::int64_t>(bytes);
  if (state_->credit <= 0) return;
  for (const auto& rank : state_->states) {
    for (OutputPipe* pipe : {&rank->out, &rank->err})
      state_->emit_inserted(*rank, *pipe);
  }
  state_->feed_starved();
}

void RankStreams::show_output(OutputTap tap) {
  state_->tap = std::move(tap);
}

void RankStreams::drop_output() {
  for (const auto& rank : state_->states) {
    state_->end_output(*rank, rank->out);
    state_->end_output(*rank, rank->err);
  }
}

bool RankStreams::insert(Rank number, Stream stream, const std::string& text) {
  OneRank& rank = state_->of(number);
  OutputPipe& pipe = stream == Stream::err && rank.terminal == nullptr ? rank.err : rank.out;
  if (!pipe.end.fd || pipe.inserted.size() + text.size() > kMaxInserted) return false;
  pipe.inserted += text;
  if (state_->credit > 0) state_->emit_inserted(rank, pipe);
  return true;
}

void RankStreams::write_input(const Chunk& bytes, bool end) {
  state_->stdin_received += bytes.size();
  if (state_->job.input_by_rank) {
    state_->records.add(bytes.view());
    while (const auto record = state_->records.next())
      state_->take_record(*record);
    return state_->report_taken();
  }
  for (const auto& rank : state_->states) {
    InputPipe& in = rank->in;
    if (!in.wanted || in.closed) continue;
    if (!bytes.empty()) in.queue.push_back(bytes);
    in.last = in.last || end;
    state_->flush_input(*rank);
  }
  state_->report_taken();
}

void RankStreams::close_input(Rank number) {
  OneRank& rank = state_->of(number);
  rank.terminal = nullptr;
  state_->close_input(rank);
}

void RankStreams::report_taken() {
  state_->report_taken();
}

}  // namespace scela::nla
