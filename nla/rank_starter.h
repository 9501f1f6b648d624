// Starting the ranks of one node: environment, standard streams, PMI connection, binding.
//
// Descriptors of a rank: 0 standard input (a pipe for Job::stdin_ranks, else /dev/null), 1 and 2
// pipes to the agent, 3 the PMI connection unless they connect to the agent's port. Nothing else.
// The rank of Job::terminal_ranks has a pseudo-terminal as 0, 1 and 2 and leads a session that it
// controls.
//
// Environment: Job::env, App::env, then
//   SCELA_RANK SCELA_SIZE SCELA_LOCAL_RANK SCELA_LOCAL_SIZE, SCELA_NODE SCELA_NODE_INDEX,
//   SCELA_JOB_ID, SCELA_NODE_DIR, SCELA_HCA_SOCKET (unless the user has set it), SCELA_ACCOUNTS
//   (accounts.h; where they are asked for), PMI_RANK PMI_SIZE PMI_FD, MPI_LOCALRANKID
//   MPI_LOCALNRANKS
// (the last two as Hydra sets them). Ranks that others have asked for have numbers and sizes of
// their own world, and PMI_SPAWNED=1. Ranks that come by the agent's port have PMI_PORT PMI_ID, or
// MPIRUN_HOST MPIRUN_PORT MPIRUN_RANK MPIRUN_NPROCS MPIRUN_ID (for MVAPICH 1 MPIRUN_MPD and
// NOT_USE_TOTALVIEW too), instead of the three; those of PMIx what their node's server has said;
// those that speak nothing have none. Variables of a server around this job are taken out.
//
// Starting blocks as start_child() does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/core/result.h"
#include "common/core/topology.h"
#include "common/os/affinity.h"
#include "common/os/child.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "nla/core/job.h"

namespace scela::nla {

// File name of the socket by which ranks find their node's adapter; no user's would be called so.
inline constexpr std::string_view kEngineSocket = "scela-hca.agent";

struct NodeFacts {
  std::string name;
  std::uint32_t index = 0;
  std::string directory;
  std::vector<std::string> environment;  // below the job's
  PmiKind pmi = PmiKind::fd;             // what ranks are given
  bool pmi_guessed = false;              // with pmix: PMI-1 and PMI-2 are there too (Settings)
  bool lacks_pmix = false;               // it was to be there too, and this node cannot serve it
  std::uint16_t port = 0;                // of the agent, on 127.0.0.1; 0: ranks inherit descriptors
  std::string companions;                // directory of programs that agents start, may be empty
  std::uint32_t processors = 1;          // of this node; 0: less than one
  std::string engine_socket = {};  // by which ranks find the node's adapter; empty: they do not
  bool accounts = false;           // ranks are asked for what they have used, see accounts.h
  // More of a rank's variables, which its PMIx server has chosen.
  std::function<std::vector<std::string>(Rank)> of_rank = nullptr;
};

struct StartedRank {
  pid_t pid = 0;  // also its process group
  Fd input;       // invalid: it reads /dev/null, or its terminal
  Fd output;      // of a rank with a terminal: our end of it
  Fd error;       // invalid: it has a terminal
  Fd pmi;         // invalid: it connects by itself
  Fd terminal;    // the rank's end of its terminal: while we hold it, output does not end
};

struct RankFailure {
  int error = 0;    // errno; EIO if not the program but something else is at fault
  std::string why;  // for a person, with the errno's text
};

class RankStarter {
 public:
  // The job and its ranks on this node; both are copied as far as needed. Opens /dev/null.
  static Result<RankStarter> create(const Job& job, const RankSet& own, NodeFacts node);

  tl::expected<StartedRank, RankFailure> start(Rank rank);
  // More ranks of this node; the job has them already.
  void add(const RankSet& more) { own_.add(more); }
  // Variables of programs that are started from now on, below the job's.
  // Of a rank's program, without what is the rank's own.
  std::vector<std::string> environment(Rank rank) { return program_of(rank).environment; }
  void set_defaults(std::vector<std::string> variables) { defaults_ = std::move(variables); }
  // Where they run; the others do where this process may.
  void bind(const std::map<Rank, CpuSet>& places);
  // Of the terminal of a rank that is started later.
  void set_window(const WindowSize& size) { window_ = size; }

 private:
  // What all ranks of one program on this node have in common.
  struct Program {
    std::string path;       // what is executed
    RankFailure failure;    // error != 0: cannot be found
    std::string directory;  // to run in
    std::vector<std::string> words;
    std::vector<std::string> environment;
  };
  RankStarter(const Job& job, const RankSet& own, NodeFacts node, Fd null);
  Program& program_of(Rank rank);
  Program prepare(const App& app) const;
  std::vector<std::string> variables(Rank number) const;
  // Whether ranks inherit a connection to this agent (PMI_FD).
  bool inherits_connection() const;
  Result<SocketPair> connection() const;
  tl::expected<StartedRank, RankFailure> start_on_terminal(Program& program, Rank rank);
  // A rank leads a session, as under Hydra: the kernel gives each session an equal share of a
  // processor (sched_autogroup_enabled), and ranks that shared one would get one share beside other
  // work.
  tl::expected<pid_t, RankFailure> execute(Program& program, Rank rank, const int (&descriptors)[4],
                                           ChildGroup group = ChildGroup::own_session);

  const Job* job_;
  RankSet own_;
  NodeFacts node_;
  Fd null_;
  WindowSize window_;
  std::vector<std::string> defaults_;
  std::map<std::size_t, Program> programs_;
  std::map<Rank, CpuMask> places_;
};

}  // namespace scela::nla
