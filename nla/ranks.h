// The ranks of this node as the shell sees them: their processes here, their standard streams in
// rank_streams.h, their PMI connections in rank_pmi.h.
//
// Turns what they do into events and carries out the actions that concern them. Knows nothing of
// links or of the tree. Everything runs on the shell's loop; starting a rank suspends it for about
// 0.3 ms, so ranks are started in batches with turns of the loop between them. Output is read only
// within the credit given by allow_output(), at most kMaxPiece at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/core/topology.h"
#include "nla/core/actions.h"
#include "nla/core/events.h"
#include "nla/rank_starter.h"
#include "nla/read_buffer.h"
#include "nla/trace.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// What the ranks' owner lends; outlives them.
struct RanksHost {
  boost::asio::io_context& io;
  ReadBuffer& buffer;
  Tracer& tracer;
  std::function<std::uint64_t()> clock_ns;  // the root's clock
  std::function<void(Event)> emit;          // queued, not handled at once
  std::function<void()> turn_over;          // time to handle what was emitted
  std::function<int()> segment;  // the node's segment, made if need be; -1: there is none
  // A rank has read the pair in the segment whose key has this hash; empty: nobody wants to know.
  std::function<void(std::uint64_t hash)> used;
  // A directory outside of the node's that must not outlive it; said before it exists.
  std::function<void(const std::string&)> entrust;
};

// What the node's adapter engine is told (engine_helper.h).
struct EngineFacts {
  std::string key;        // its own (common/crypto/engine_keys.h)
  std::string address;    // that other nodes reach this one by
  bool encrypts = false;  // what goes to other nodes, unless the user has said whether it is to be
};

class Ranks {
 public:
  // `setup_error` not empty: no rank can be started, for this reason.
  Ranks(RanksHost host, const Job& job, const RankSet& own, NodeFacts node, EngineFacts engine,
        std::string setup_error);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Ranks that the job has by now; their numbers are larger than those that are here.
  void add(const RankSet& more);
  // The job has more worlds, whether or not with ranks of this node; before they start.
  void worlds_added();
  // Where they run; before they start.
  void bind(const std::map<Rank, CpuSet>& places);
  void start(const RankSet& ranks);
  void end(const RankSet& ranks);  // at once
  // To the process groups of those that run. Ranks that still wait for their start are not started
  // any more if the signal is one that ends programs.
  void signal(int signo);
  void cancel_starts();
  void reply(const action::Reply& reply);
  // Ranks of this job, wherever, that the job goes on without.
  void peers_failed(const RankSet& ranks);
  void nodes_lost(const RankSet& nodes);
  void reconnected(const RankSet& ranks);
  void allow_output(std::uint64_t bytes);
  void drop_streams();
  void write_stdin(const Chunk& bytes, bool end);
  void resize(const WindowSize& size);  // of the terminal of Job::terminal_ranks
  void set_pmi_reading(bool on);
  // The job is over: what serves the ranks here may go.
  void let_servers_go();
  // False: the process is neither a rank nor what serves them.
  bool reaped(pid_t pid, int status);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
