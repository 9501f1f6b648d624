// The processes of this node: which ranks have been started, which of their pipes are open, and
// what the ranks leave behind. This part also knows whether they are ended for a reason of this
// node: its time limit, or the loss of its guardian. The agent's core uses it, and one thread at a
// time calls it.
#pragma once

#include <cstdint>

#include "nla/core/io/streams.h"
#include "nla/core/tree/context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// A pipe may stay open for this long after the last process of the node is gone. Only a process
// that is no descendant of this agent can hold it then.
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
  NodeProcesses(Context& context, const Verdicts& verdicts, OutputFlow& output)
      : context_(context), verdicts_(verdicts), output_(output) {}

  void on(const event::RankStarted& event) { started_.add(event.rank); }
  void on(const event::RankOutput& event) { output_.local(event); }
  void on(const event::RankStreamEnded& event);
  void on(const event::NodeEmpty& event);

  // Starts ranks of this node. `first` says that they are the first ones here. The caller calls
  // start_limit() after all other actions that the first start has.
  void start(const RankSet& ranks, bool first);
  // Starts the timer of the node's time limit, if the job has one.
  void start_limit();
  // These ranks have no process, and so no pipes.
  void not_started(const RankSet& ranks);
  const RankSet& started() const { return started_; }
  // Returns true if no rank of this node lacks its verdict.
  bool no_rank_left() const { return verdicts_.open(context_.own_ranks).empty(); }

  // Ends by force what is left of the node's processes. The shell repeats it until none is left.
  void force_end();
  // Sends SIGKILL to the ranks and ends what else is left, unless no process is.
  void kill();
  // Timer::limit has fired: the ranks get SIGTERM the first time. After the grace, what is left of
  // them is ended, with descendants that no rank answers for.
  void limit_reached();
  bool timed_out() const { return timed_out_; }

  // The guardian is lost. The caller ends the ranks.
  void lose_guardian() { guardian_lost_ = true; }
  bool guardian_lost() const { return guardian_lost_; }
  // Returns the outcome of this node's ranks once the guardian is lost.
  static Outcome guardian_outcome() {
    return {Ending::lost, 0, false, false, "the guardian of its agent was killed"};
  }

  // Timer::drain has fired.
  void drain();
  // The subtree is to end. Does the next steps of the node's end. Returns true once every rank here
  // has its verdict, no process is left and all pipes have ended.
  bool end();

 private:
  bool is_empty() const {
    return end_ == NodeEnd::emptied_early || end_ == NodeEnd::empty || end_ == NodeEnd::draining;
  }
  bool pipes_open() const { return !streams_open_[0].empty() || !streams_open_[1].empty(); }
  // Every rank has its verdict. Asks what they left behind to end.
  void ask_to_end();
  void start_draining();

  Context& context_;
  const Verdicts& verdicts_;
  OutputFlow& output_;
  RankSet started_;
  RankSet streams_open_[2];  // the ranks with a pipe that has not ended, by Stream
  NodeEnd end_ = NodeEnd::running;
  bool timed_out_ = false;  // the time limit of the node has ended the ranks
  bool guardian_lost_ = false;
  std::uint64_t drained_ = 0;  // output bytes read when Timer::drain was set
};

}  // namespace scela::nla
