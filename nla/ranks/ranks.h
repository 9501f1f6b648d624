// The ranks of this node as the shell sees them. The shell is the agent's code with system calls;
// the core is its state machine. The processes of ranks are managed here, their standard streams in
// rank_streams.h, their PMI connections in nla/pmi/rank_pmi.h.
//
// This part turns what ranks do into events (nla/core/tree/events.h), and carries out the actions
// that concern them. It knows nothing of links or of the tree. Everything runs on the shell's loop,
// in one thread. Starting a rank suspends it for about 0.3 ms, so ranks are started in batches with
// turns of the loop between them. Output is read only within the credit given by allow_output(), at
// most kOutputPiece bytes at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/core/placement/topology.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/events.h"
#include "nla/io/ranks_host.h"
#include "nla/ranks/rank_starter.h"
#include "nla/ranks/rank_usage.h"

namespace scela::nla {

// Facts for the node's adapter engine (engine_helper.h), the process that stands for an InfiniBand
// adapter.
struct EngineFacts {
  // The engine's own key (common/crypto/engine_keys.h).
  std::string key;
  // The address at which other nodes reach this one.
  std::string address;
  // True if traffic to other nodes is encrypted by default.
  bool encrypts = false;
};

class Ranks {
 public:
  // `own` are the first ranks of this node. `job` is borrowed. If `setup_error` is not empty, no
  // rank can be started, for this reason.
  Ranks(RanksHost host, const Job& job, const RankSet& own, NodeFacts node, EngineFacts engine,
        std::string setup_error);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Adds ranks of this node that the job has by now. Their numbers are larger than those of the
  // present ranks.
  void add(const RankSet& more);
  // Call it if the job has more worlds (ranks that a rank asked for), with or without ranks of this
  // node. To be called before those ranks start.
  void worlds_added();
  // Sets the processors of ranks, before they start.
  void bind(const std::map<Rank, CpuSet>& places, const std::map<Rank, DomainSet>& memory);
  // Queues the ranks for their start, which happens in later turns of the loop. Each start or
  // failure becomes event::RankStarted or event::RankNotStarted.
  void start(const RankSet& ranks);
  // Kills those of these ranks that run, at once, by SIGKILL. Those that wait for their start are
  // reported as not started. Returns true if there were such ranks.
  bool end(const RankSet& ranks);
  // Signals the process groups of running ranks. If the signal is one that ends programs, ranks
  // that wait for their start are not started any more, and the function returns true if there were
  // such ranks or running ones.
  bool signal(int signo);
  // Reports the ranks that wait for their start as not started (ECANCELED).
  void cancel_starts();
  // Passes the core's answer on to the rank, or to the server or engine that has asked.
  void reply(const action::Reply& reply);
  // Call it if ranks of this job, on any node, have failed, and the job goes on without them.
  void peers_failed(const RankSet& ranks);
  // Call it if the agents of these nodes (node numbers) are gone.
  void nodes_lost(const RankSet& nodes);
  // Call it if messages between these ranks and all others may be lost (action::Reconnected).
  void reconnected(const RankSet& ranks);
  // Adds to the credit for output, in bytes.
  void allow_output(std::uint64_t bytes);
  // Closes all output of the ranks; the end of each stream is reported.
  void drop_streams();
  // Queues input for the ranks of Job::stdin_ranks. If `end` is true, these are the last bytes.
  void write_stdin(const Chunk& bytes, bool end);
  // Sets the size of the terminal of the rank that has one, now or when it starts.
  void resize(const WindowSize& size);
  // If `on` is false, no requests of ranks are read, by PMI or PMIx, until the next call. They are
  // read at first.
  void set_pmi_reading(bool on);
  // Call it if the job is over: the PMIx server and the adapter engine may end.
  void let_servers_go();
  // Takes the end of a child process, with the status and the usage of wait4(). Returns false if
  // the process is neither a rank nor a server of ranks.
  bool reaped(pid_t pid, int status, const rusage& usage);
  // Looks at the ranks that run, and answers with event::Inspected (action::InspectRanks).
  void inspect(const action::InspectRanks& action);
  // Returns the usage of all ranks that have ended so far, in the order of their ends.
  const std::vector<RankUsage>& usages() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
