// The ranks of this node between the agent's core and nla/ranks: how they are set up when the first
// of them is to start, and what they need of the machine. The shell, the code around the core that
// makes system calls, uses this part on its loop.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/core/placement/topology.h"
#include "nla/core/tree/actions.h"
#include "nla/core/wire/binding.h"
#include "nla/io/report_pieces.h"
#include "nla/node/job_keys.h"
#include "nla/node/node_directory.h"
#include "nla/node/shell_context.h"
#include "nla/ranks/node_segment.h"
#include "nla/ranks/ranks.h"

namespace scela::nla {

class NodeRanks {
 public:
  // `core` is the agent's core that answers the ranks. All references are borrowed.
  NodeRanks(ShellContext& context, const JobKeys& keys, NodeDirectory& directory, Agent& core)
      : context_(context), keys_(keys), directory_(directory), core_(core) {}

  // Actions for the ranks. Those for ranks that do not run have no effect.

  // Starts ranks of this node, on the processors that the job's placement gives them.
  void carry_out(action::StartRanks& start);
  // Adds ranks that a rank asked for (PMI spawn) to the job.
  void carry_out(action::AddWorld& add);
  // Sends a signal to the ranks that run. If it ends programs, ranks that wait for their start are
  // not started.
  void carry_out(action::SignalRanks& action);
  // Looks at the ranks that run. event::Inspected answers.
  void carry_out(action::InspectRanks& action);
  // Kills ranks that run, and does not start those that wait.
  void carry_out(action::EndRanks& action);
  // Answers a request of a rank, or of a server in its name.
  void carry_out(action::Reply& action);
  // Allows more output of the ranks to be read.
  void carry_out(action::ReadOutput& action);
  // Closes the output of all ranks.
  void carry_out(action::DropStreams& action);
  // Writes standard input to the ranks that get it.
  void carry_out(action::WriteStdin& action);
  // Sets the size of a rank's terminal.
  void carry_out(action::ResizeTerminal& action);
  // Tells the ranks and the PMIx server that ranks have failed and the job goes on.
  void carry_out(action::RanksFailed& action);
  // Tells the PMIx server that the agents of nodes are gone.
  void carry_out(action::NodesLost& action);
  // Tells the PMIx server that messages between ranks may be lost, so that it asks again.
  void carry_out(action::Reconnected& action);

  // Call it if ShellContext::paused has changed: requests of ranks are read or not read from now
  // on.
  void follow_pause();
  // Call it if the job is over: the PMIx server and the adapter engine may end. If `force`, ranks
  // that wait for their start are not started.
  void let_servers_go(bool force);
  // Takes the end of a child process; `status` and `usage` are those of wait4(). Returns false if
  // the process is neither a rank nor a server of ranks.
  bool reaped(pid_t pid, int status, const rusage& usage) {
    return ranks_ && ranks_->reaped(pid, status, usage);
  }
  // Returns where ranks can meet on this node (nla/core/job/meeting_ports.h), as text. Returns why
  // if it has no address for that, or "" if it has no free port.
  std::string rendezvous() const;
  // Adds the usage of each rank that has ended to the report (nla/ranks/rank_usage.h).
  void add_usage(Pieces& report) const;
  // Returns the machine's topology. The first call reads it, which blocks as local files do.
  const Topology& machine();

 private:
  // Reports that the ranks are not started, and returns true, if the node cannot hold so many.
  bool refuse_too_many(const RankSet& ranks);
  // Returns the places of ranks that are about to start: none, if the job binds no rank. Blocks as
  // local files do. The error and `later` are those of Binding::place().
  Result<Binding::Places> find_places(const RankSet& ranks, bool later);
  // Logs where the ranks run.
  void report(const RankSet& ranks, const Binding::Places& places, const Binding::Memory& memory);
  // Returns the NUMA domains of the ranks' memory, if the job binds memory.
  Result<Binding::Memory> memory_of(const RankSet& ranks, const Binding::Places& places);
  // Sets the ranks up, with these as the first ones.
  void make_ranks(const RankSet& first);
  // Return what the start of ranks and the adapter's engine need to know of this node.
  NodeFacts node_facts() const;
  EngineFacts engine_facts() const;
  // Returns the numeric address by which other nodes reach this one; 127.0.0.1 if none is known.
  // Returns an error if this machine has no address in the network that the user has chosen.
  Result<std::string> address_for_others() const;
  // Makes the segment if need be. Returns its descriptor, or -1 if there is none.
  int segment_descriptor();
  // Tells the core that a rank has read a pair in the segment, the memory from which the node's
  // ranks read pairs. The cache counts that as a use of the pair. `hash` is the hash of its key.
  void pair_used(std::uint64_t hash);

  ShellContext& context_;
  const JobKeys& keys_;
  NodeDirectory& directory_;
  Agent& core_;
  std::unique_ptr<NodeSegment> segment_;
  bool segment_refused_ = false;      // it could not be made
  std::optional<Topology> topology_;  // of its machine, once needed
  std::optional<Binding> binding_;    // of ranks to processors, once needed
  std::unique_ptr<Ranks> ranks_;
  std::uint64_t early_credit_ = 0;  // for output, before ranks were started
};

}  // namespace scela::nla
