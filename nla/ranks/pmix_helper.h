// The agent's view of this node's PMIx server. An agent is the process of the job on one node. The
// server is a program of its own (scela-pmix), started for jobs with ranks that use PMIx. So
// libpmix's threads, memory and crashes stay out of the agent.
//
// It is a thin shell around PmixService (nla/core/pmix/pmix_service.h): it starts the server,
// carries bytes, and reports why the server ended. The server ends with its link or its agent, and
// has nothing outside of the node's directory. Stand-ins for ranks that have ended
// (nla/core/pmix/pmix_ranks.h) run one after the other, and end with the agent. Used by Ranks; runs
// on the shell's loop. Never blocks, except for starting processes as start_child() does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/pmix/pmix_service.h"
#include "nla/io/poller.h"
#include "nla/ranks/pmix_program.h"
#include "nla/ranks/rank_starter.h"
#include "nla/ranks/ranks.h"

namespace scela::nla {

// This bit is set in the numbers of requests of PMIx. Ranks that also use PMI have the same numbers
// without this bit.
inline constexpr RequestId kPmixRequest = RequestId{1} << 62;

class PmixHelper final : Poller::Watcher {
 public:
  // Is called when the server is ready for one more world (ranks that are started together;
  // nla/core/wire/job.h), with an empty `why`. Otherwise `why` says why the server does not, or no
  // longer, serve; that call is the last.
  using News = std::function<void(std::string why)>;

  // Access to the ranks of this node.
  struct Reach {
    // Returns the process id of a rank of this node if it runs, otherwise 0.
    std::function<pid_t(Rank)> process;
    // Sends a signal to a rank.
    std::function<void(Rank, int signo)> signal;
    // Lets ranks of this node go that are, or are to be, stopped at their start.
    std::function<void(const RankSet&)> release;
    // Puts text among a rank's output. Returns false if that stream has ended.
    std::function<bool(Rank, Stream, std::string)> write;
  };

  // All references are borrowed. `own` are the ranks of this node, and `node` is its number.
  PmixHelper(const RanksHost& host, const Job& job, const RankSet& own, std::uint32_t node,
             Poller& poller, Reach reach, News news);
  PmixHelper(const PmixHelper&) = delete;
  PmixHelper& operator=(const PmixHelper&) = delete;

  // Starts the server. Error (launch): there is no such program, or it cannot be started. Blocks as
  // start_child() does.
  Result<void> start(const NodeFacts& node);
  // Returns variables ("K=V") for the ranks of this node that the user's settings override. `ranks`
  // is the number of ranks that run here.
  std::vector<std::string> defaults(std::uint64_t ranks);

  // Call it if the job has more worlds. Sends them to the server.
  void tell_worlds() { service_.tell_worlds(); }
  // Returns true if the server runs and has reported that it is ready for the rank's world.
  bool serves(Rank rank) const { return link_ && job_.world_of(rank) < service_.ready_worlds(); }
  // Returns the variables that the server has chosen for the rank ("K=V").
  std::vector<std::string> environment(Rank rank) const { return service_.environment(rank); }
  // Takes an answer of the core. Returns false, and does nothing, if it does not answer a request
  // of PMIx.
  bool reply(const action::Reply& reply);
  // Gives the server a copy of a rank's output, for tools that have asked for it.
  void output(Rank rank, Stream stream, std::string_view bytes) {
    service_.output(rank, stream == Stream::err, bytes);
  }
  // Tells the server that this rank was stopped before the first instruction of its program.
  void rank_stopped(Rank rank) { service_.rank_stopped(rank); }
  // Tells the server that ranks of any node have failed and the job goes on.
  void peers_failed(const RankSet& ranks) { service_.peers_failed(ranks); }
  // Tells the server that the agents of these nodes (node numbers) are gone.
  void nodes_lost(const RankSet& nodes) { service_.nodes_lost(nodes); }
  // Call it if messages between these ranks and all others may be lost. Open questions are asked
  // again.
  void reconnected(const RankSet& ranks) { service_.reconnected(ranks); }
  // If `on` is false, the server's messages are not read until the next call.
  void set_reading(bool on);
  // Returns true if the server is about to end, or has ended and is not reaped. Ranks may notice
  // this, and act on it, before the server is reaped.
  bool ending();
  // Call it when the rank's process is gone. The server's earlier messages about it are processed
  // first. Returns true if the rank has not finalized what it had initialized.
  bool rank_ended(Rank rank);
  // Records how the rank ended, or that it was not started, for processes that ask.
  void note_end(Rank rank, const Outcome& outcome);
  // Call it if the job is over: the server may end. Its end is not reported.
  void let_go();
  // Takes the end of a child process, with the status of waitpid(). Returns false if the process is
  // neither the server nor a stand-in.
  bool reaped(pid_t pid, int status);

 private:
  // Takes the readiness of the server's connection (Poller::Watcher).
  void ready(bool readable, bool writable) override;
  // Queues a message for the server and calls write(). If the server is far behind, events are
  // dropped.
  void tell(const pmix::Message& message);
  // Writes what the socket takes now.
  void write();
  // Reads and handles at most one buffer. Returns false if there is no more now, or the link ended.
  bool read();
  // Closes the link and kills the server. `why` is the reason, or empty if the server closed it.
  // reaped() reports the reason.
  void give_up(std::string why);
  // Tells the poller what the link waits for now.
  void watch();
  // Returns the last line of the server's standard error, or an empty string.
  std::string last_words() const;
  // Returns the functions by which the service reaches the server, the core and the ranks.
  PmixService::Callbacks sides(Reach reach);
  // Makes a directory below /dev/shm for the shared memory of ranks. If this fails, there is none.
  void make_shared_directory(const std::string& node);
  // Removes this node's defaults() from the environments of ranks that a rank spawns.
  void drop_defaults(SpawnRequest& request) const;
  // Starts the next stand-in, unless one runs.
  void start_stand_in();
  // Kills the stand-in that runs, and starts none of those that wait.
  void end_stand_ins();

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  Poller& poller_;
  News news_;
  PmixService service_;
  pmix::Decoder decoder_;
  Fd link_;
  Fd errors_;           // the server's standard error
  std::string shared_;  // directory in memory; may be empty
  Fd shared_hold_;
  std::string fallback_;  // used if there is no `shared_`
  std::uint32_t processors_ = 1;
  std::vector<std::string> defaults_;  // all that were ever given
  std::optional<PmixProgram> program_;
  std::string directory_;  // the server's working directory
  pid_t pid_ = 0;
  std::deque<Rank> stand_ins_;  // still to be started
  pid_t stand_in_ = 0;
  std::string output_;
  std::size_t written_ = 0;
  std::string why_;         // reason, once it is being ended
  std::size_t served_ = 0;  // number of worlds
  bool let_go_ = false;
  bool may_read_ = true;
  bool watched_ = false;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace scela::nla
