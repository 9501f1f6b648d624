// The ranks of this node as the shell sees them. Their processes are managed here, their standard
// streams in rank_streams.h, their PMI connections in nla/pmi/rank_pmi.h.
//
// Turns what ranks do into events, and carries out the actions that concern them. It knows nothing
// of links or of the tree. Everything runs on the shell's loop, in one thread. Starting a rank
// suspends it for about 0.3 ms, so ranks are started in batches with turns of the loop between
// them. Output is read only within the credit given by allow_output(), at most kMaxPiece bytes at
// once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/core/topology.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/events.h"
#include "nla/io/ranks_host.h"
#include "nla/ranks/rank_starter.h"

namespace scela::nla {

// Facts for the node's adapter engine (engine_helper.h).
struct EngineFacts {
  std::string key;        // its own (common/crypto/engine_keys.h)
  std::string address;    // at which other nodes reach this one
  bool encrypts = false;  // traffic to other nodes, by default
};

class Ranks {
 public:
  // If `setup_error` is not empty, no rank can be started, for this reason.
  Ranks(RanksHost host, const Job& job, const RankSet& own, NodeFacts node, EngineFacts engine,
        std::string setup_error);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Adds ranks that the job has by now. Their numbers are larger than those of the present ranks.
  void add(const RankSet& more);
  // The job has more worlds, with or without ranks of this node. To be called before those ranks
  // start.
  void worlds_added();
  // Sets the processors of ranks, before they start.
  void bind(const std::map<Rank, CpuSet>& places);
  // Queues the ranks for their start, which happens in later turns. Each start or
  // failure becomes an event.
  void start(const RankSet& ranks);
  void end(const RankSet& ranks);  // at once, by SIGKILL
  // Signals the process groups of running ranks. If the signal is one that ends programs, ranks
  // that wait for their start are not started any more.
  void signal(int signo);
  // Ranks that wait for their start are reported as not started.
  void cancel_starts();
  // Passes the core's answer on to the rank, or to the server or engine that has asked.
  void reply(const action::Reply& reply);
  // Ranks of this job, on any node, have failed, and the job goes on without them.
  void peers_failed(const RankSet& ranks);
  // The meaning of both sets is in nla/core/tree/actions.h (NodesLost, Reconnected).
  void nodes_lost(const RankSet& nodes);
  void reconnected(const RankSet& ranks);
  // Adds to the credit for output, in bytes.
  void allow_output(std::uint64_t bytes);
  // Closes all output of the ranks; the end of each stream is reported.
  void drop_streams();
  // Queues input for the ranks of Job::stdin_ranks. If `end`, these are the last bytes.
  void write_stdin(const Chunk& bytes, bool end);
  void resize(const WindowSize& size);  // of the terminal of a rank
  // Off: no requests of ranks are read, by PMI or PMIx. On at first.
  void set_pmi_reading(bool on);
  // The job is over; the servers of the ranks here may end.
  void let_servers_go();
  // Returns false if the process is neither a rank nor a server of ranks.
  bool reaped(pid_t pid, int status);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
