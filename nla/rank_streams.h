// Standard input, output and error of this node's ranks: pipes, or the terminal that a rank has.
//
// Output is read only within the credit given by allow_output(), at most kMaxPiece at once, and is
// labelled here. Input goes to all of Job::stdin_ranks, as fast as the slowest takes it. Runs on
// the shell's loop; tells what happens by RanksHost::emit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/os/fd.h"
#include "nla/poller.h"
#include "nla/rank_terminal.h"
#include "nla/ranks.h"

namespace scela::nla {

class RankStreams {
 public:
  // All are borrowed; `poller` is there when the first rank is.
  RankStreams(const RanksHost& host, const Job& job, const RankSet& own, std::string node_name,
              std::optional<Poller>& poller);
  ~RankStreams();
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;

  // More ranks of this node.
  void add(const RankSet& more);
  // The rank is one of Job::stdin_ranks.
  bool wants_input(Rank rank) const;
  // `error` is invalid if the rank has a terminal, to which the others lead then; `input` if it
  // gets none. `terminal`, or null, stays until close_input().
  void open(Rank number, Fd output, Fd error, Fd input, RankTerminal* terminal);

  void allow_output(std::uint64_t bytes);
  void drop_output();  // reads no more of it
  // Is shown all that ranks write, as they write it.
  using Onlooker = std::function<void(Rank, Stream, std::string_view)>;
  void show_output(Onlooker onlooker);
  // Text that others want among a rank's output, labelled likewise; of what there is no credit for,
  // some is kept. False: that stream has ended, or too much is kept.
  bool insert(Rank number, Stream stream, const std::string& text);
  void write_input(const Chunk& bytes, bool end);
  // The rank takes no more, or never will; what comes counts as taken.
  void close_input(Rank number);
  // Tells what all ranks have taken, if that is more.
  void report_taken();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
