// Standard input, output and error of this node's ranks: pipes, or the terminal that a rank has.
// Ranks uses it.
//
// Output is read only within the credit of allow_output(), at most kOutputPiece bytes at once,
// and is labelled here (Job::label). Input goes to all of Job::stdin_ranks, as fast as the slowest
// of them reads it. If Job::input_by_rank, each of its records goes to the terminal of one rank,
// and counts as taken at once: keys are lost if the rank does not read. Runs on the shell's loop
// and never blocks. Events for the agent's core (nla/core/tree/events.h) are reported by
// RanksHost::emit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/os/fd.h"
#include "nla/io/poller.h"
#include "nla/ranks/rank_terminal.h"
#include "nla/ranks/ranks.h"

namespace scela::nla {

class RankStreams {
 public:
  // All references are borrowed. `own` are the ranks of this node. `poller` must have a value when
  // the first rank is opened.
  RankStreams(const RanksHost& host, const Job& job, const RankSet& own, std::string node_name,
              std::optional<Poller>& poller);
  ~RankStreams();
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;

  // Adds ranks of this node.
  void add(const RankSet& more);
  // Returns true if the rank is one of Job::stdin_ranks.
  bool wants_input(Rank rank) const;
  // Takes the agent's ends of a rank that was started. `error` is invalid if the rank has a
  // terminal; the other descriptors then lead to the terminal. `input` is invalid if the rank gets
  // none. `terminal` may be nullptr; it must live until close_input().
  void open(Rank number, Fd output, Fd error, Fd input, RankTerminal* terminal);

  // Adds to the credit, in bytes; labels count too. Streams without credit are not read until then.
  void allow_output(std::uint64_t bytes);
  // Closes the output of all ranks and reports the end of each stream.
  void drop_output();
  // show_output() registers a function that sees all output of the ranks when it is read, without
  // labels.
  using OutputTap = std::function<void(Rank, Stream, std::string_view)>;
  void show_output(OutputTap tap);
  // Inserts text of other components into a rank's output, labelled in the same way. Without
  // credit, up to 64 KiB for each stream are kept. Returns false if that stream has ended or too
  // much is kept.
  bool insert(Rank number, Stream stream, const std::string& text);
  // Queues input for all ranks that still read it. If `end`, these are the last bytes.
  void write_input(const Chunk& bytes, bool end);
  // Call it if the rank reads no more input, or never will. Later input counts as taken.
  void close_input(Rank number);
  // Reports the number of input bytes that all ranks have taken (event::StdinTaken), if it has
  // grown.
  void report_taken();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
