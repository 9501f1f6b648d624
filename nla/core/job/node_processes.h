// The processes of this node: which ranks have been started, which of their pipes are open, and
// what the ranks leave behind. This part also knows whether they are ended for a reason of this
// node: its time limit, or the loss of its guardian, the small process that cleans the node if the
// agent dies. A verdict is how a rank ended. The agent's core uses this part, and one thread at a
// time calls it.
#pragma once

#include <cstdint>

#include "nla/core/io/streams.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// In milliseconds: a pipe may stay open for this long after the last process of the node is gone.
// Only a process that is no descendant of this agent can hold it then.
inline constexpr std::uint32_t kDrainMs = 1000;

// How far the end of the node's processes has come. A state may be left out, but none comes again.
enum class NodeEnd : std::uint8_t {
  running,  // ranks may run, or leave processes behind
  // As `running`, but an end by force, which ended what ranks left behind, has emptied the node.
  emptied_early,
  asked,     // all ranks here have verdicts, and what they left behind was asked to end
  empty,     // no descendant of this node is left
  draining,  // as `empty`, and pipes that are still open get kDrainMs
};

class NodeProcesses {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  NodeProcesses(Context& context, const Verdicts& verdicts, OutputFlow& output)
      : context_(context), verdicts_(verdicts), output_(output) {}

  // Notes that the rank has a process.
  void on(const event::RankStarted& event) { started_.add(event.rank); }
  // Passes output of a rank to OutputFlow, which sends it towards the user.
  void on(const event::RankOutput& event) { output_.local(event); }
  // Notes that a rank's pipe is closed, and passes the end of the stream on.
  void on(const event::RankStreamEnded& event);
  // Notes that no descendant process of this node is left.
  void on(const event::NodeEmpty& event);

  // Asks the shell to start ranks of this node. `first` says that they are the first ones here. The
  // caller calls start_limit() after all other actions that belong to the first start.
  void start(const RankSet& ranks, bool first);
  // Starts the timer of the node's time limit, if the job has one.
  void start_limit();
  // Notes that these ranks were not started: they have no process, and so no pipes.
  void not_started(const RankSet& ranks);
  // Returns the ranks of this node that were started, ended ones included.
  const RankSet& started() const { return started_; }
  // Returns true if every rank of this node has its verdict.
  bool no_rank_left() const { return verdicts_.open(context_.own_ranks).empty(); }

  // Kills what is left of the node's processes, ranks included. The shell repeats it until none is
  // left.
  void force_end();
  // Sends SIGKILL to the ranks and kills what else is left. Does nothing at the root or if the node
  // is empty.
  void kill();
  // Call it when Timer::limit has fired. The first time, the ranks get SIGTERM. After the grace,
  // what is left of them is killed, with descendants that no rank answers for.
  void limit_reached();
  // Returns true if the time limit has ended the ranks of this node.
  bool timed_out() const { return timed_out_; }

  // Notes that the guardian is lost, or (`was_told`) that a signal has told it or the agent to end.
  // The caller ends the ranks.
  void lose_guardian(bool was_told) {
    guardian_ = was_told ? GuardianState::told_to_end : GuardianState::killed;
  }
  // Returns true if lose_guardian() was called.
  bool guardian_lost() const { return guardian_ != GuardianState::watches; }
  // Returns the outcome of this node's ranks once the guardian is lost.
  Outcome guardian_outcome() const;

  // Call it when Timer::drain has fired. Closes the ranks' pipes, or waits once more if output came
  // meanwhile.
  void drain();
  // Call it repeatedly while the subtree is to end. Takes the next step of the node's end. Returns
  // true once every rank here has its verdict, no process is left and all pipes have ended.
  bool end();

 private:
  enum class GuardianState : std::uint8_t {
    watches,      // it watches over the agent
    killed,       // it is gone, and the node ends
    told_to_end,  // a signal has told it or the agent to end, and the node ends
  };

  // Returns true if no process of the node is left, as far as the shell has reported.
  bool is_empty() const {
    return end_ == NodeEnd::emptied_early || end_ == NodeEnd::empty || end_ == NodeEnd::draining;
  }
  // Returns true if a rank's standard output or error has not ended.
  bool pipes_open() const { return !streams_open_[0].empty() || !streams_open_[1].empty(); }
  // Asks the processes that the ranks left behind to end. Every rank has its verdict.
  void ask_to_end();
  // Starts Timer::drain.
  void start_draining();

  Context& context_;
  const Verdicts& verdicts_;
  OutputFlow& output_;
  RankSet started_;
  RankSet streams_open_[2];  // the ranks with a pipe that has not ended, by Stream
  NodeEnd end_ = NodeEnd::running;
  bool timed_out_ = false;  // the time limit of the node has ended the ranks
  GuardianState guardian_ = GuardianState::watches;
  std::uint64_t drained_ = 0;  // output bytes read when Timer::drain was set
};

}  // namespace scela::nla
