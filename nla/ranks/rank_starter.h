// Starts the ranks of one node: environment, standard streams, PMI connection, binding. Ranks uses
// it on the shell's loop.
//
// Descriptors of a rank: 0 is standard input (a pipe for Job::stdin_ranks, else /dev/null), 1 and 2
// are pipes to the agent. 3 is the PMI connection, unless ranks connect to the agent's port. There
// are no others. The rank of Job::terminal_ranks has a pseudo-terminal as 0, 1 and 2, and leads a
// session that it controls.
//
// The environment is Job::env, App::env, then
//   SCELA_RANK SCELA_SIZE SCELA_LOCAL_RANK SCELA_LOCAL_SIZE, SCELA_NODE SCELA_NODE_INDEX,
//   SCELA_JOB_ID, SCELA_NODE_DIR, SCELA_HCA_SOCKET (unless the user has set it), SCELA_COUNTERS
//   (rank_counter_files.h; where they are asked for), PMI_RANK PMI_SIZE PMI_FD, MPI_LOCALRANKID
//   MPI_LOCALNRANKS
// (the last two as Hydra sets them). Spawned ranks have the numbers and sizes of their own world,
// and PMI_SPAWNED=1. PMI_RANK, PMI_SIZE and PMI_FD are replaced if ranks use another protocol.
// Ranks that connect to the agent's port have PMI_PORT PMI_ID, or MPIRUN_HOST MPIRUN_PORT
// MPIRUN_RANK MPIRUN_NPROCS MPIRUN_ID (for MVAPICH 1 MPIRUN_MPD and NOT_USE_TOTALVIEW too). Ranks
// of PMIx have the variables that their node's server has chosen. Ranks without a protocol have
// none. Variables of a server around this job are removed. Ranks of a training job have the
// variables of nla/core/job/style_variables.h, those of their GPUs, and SCELA_RESTART_COUNT if the
// job may be started again.
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

#include "common/core/placement/topology.h"
#include "common/core/result.h"
#include "common/os/affinity.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "nla/core/job/gpu_devices.h"
#include "nla/core/job/style_variables.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

// The file name of the socket by which ranks find their node's adapter engine. A user's socket
// would not be called so.
inline constexpr std::string_view kEngineSocket = "scela-hca.agent";

// The facts of this node that the start of ranks needs.
struct NodeFacts {
  std::string name;  // of the node
  std::uint32_t index = 0;
  std::string directory;
  // Variables ("K=V") of the node, which those of the job replace.
  std::vector<std::string> environment;
  PmiKind pmi = PmiKind::fd;  // the ranks' protocol
  // With PmiKind::pmix: ranks can also use PMI-1 and PMI-2 (Settings::pmi_guessed).
  bool pmi_guessed = false;
  // PMIx was wanted, but this node has no server for it.
  bool lacks_pmix = false;
  // The agent's port on 127.0.0.1 for PMI; 0: ranks inherit a connection.
  std::uint16_t port = 0;
  // The directory of the programs that agents start; may be empty.
  std::string helper_directory;
  // The number of this node's processors; 0: it shares one with other nodes.
  std::uint32_t processors = 1;
  // The path of the socket of the node's adapter engine; may be empty.
  std::string engine_socket = {};
  // Ranks write usage counters (rank_counter_files.h).
  bool counters = false;
  // The part of its machine's GPUs that is this node's.
  GpuShare gpus;
  // Returns more variables of a rank, which its PMIx server has chosen.
  std::function<std::vector<std::string>(Rank)> of_rank = nullptr;
};

// A rank that was started, and the agent's ends of its descriptors. Some are invalid.
struct StartedRank {
  pid_t pid = 0;  // also its process group
  Fd input;       // invalid: /dev/null or the terminal
  Fd output;      // with a terminal: the agent's end of it
  Fd error;       // invalid: it has a terminal
  Fd pmi;         // invalid: the rank connects by itself
  // The rank's end of its terminal, which keeps `output` from reporting an end.
  Fd terminal;
};

// The reason why a rank was not started.
struct RankFailure {
  int error = 0;    // errno; EIO: the program is not at fault
  std::string why;  // for a person, with the errno's text
};

class RankStarter {
 public:
  // Makes a starter. `job` is borrowed; `own`, the ranks of this node, is copied. Opens /dev/null.
  // Error (io): it cannot be opened.
  static Result<RankStarter> create(const Job& job, const RankSet& own, NodeFacts node);

  // Starts the process of a rank, which must be one of this node. If it cannot be started, no
  // process is left. If `held`, the rank is stopped before its program's first instruction.
  tl::expected<StartedRank, RankFailure> start(Rank rank, bool held);
  // Adds ranks of this node. The job must have them already.
  void add(const RankSet& more) { own_.add(more); }
  // Returns the environment ("K=V") of a rank's program, without the rank's own variables.
  std::vector<std::string> environment(Rank rank) { return program_of(rank).environment; }
  // Sets variables of programs that are started from now on; those of the job replace them.
  void set_defaults(std::vector<std::string> variables) { defaults_ = std::move(variables); }
  // Sets the processors on which ranks will run. Other ranks run where this process may.
  void bind(const std::map<Rank, CpuSet>& places, const std::map<Rank, DomainSet>& memory);
  // Sets the window size of the terminal of a rank that is started later.
  void set_window(const WindowSize& size) { window_ = size; }

 private:
  // The properties that all ranks of one program on this node share.
  struct Program {
    std::string path;       // executable file
    RankFailure failure;    // error != 0: it cannot be started
    std::string directory;  // working directory
    std::vector<std::string> words;
    std::vector<std::string> environment;
  };
  RankStarter(const Job& job, const RankSet& own, NodeFacts node, Fd null);
  // Returns the properties of the rank's program, from the cache if possible. They are valid
  // until the next call.
  Program& program_of(Rank rank);
  // Returns Job::debugger with the program as its words. It is valid until the next call.
  Program& under_debugger(const Program& program);
  // Finds the executable file and the working directory. On failure sets Program::failure.
  Program prepare(const App& app) const;
  // Has the user's login shell on this node run the program's one word as a text ("-c TEXT").
  void use_login_shell(Program& program) const;
  // Returns the rank's own variables ("K=V"), as the head of this file lists them.
  std::vector<std::string> variables(Rank number) const;
  // Returns the variables that the rank gets beside those of its program. They replace Open MPI's
  // variables of the program.
  std::vector<std::string> additions_to(const Program& program, Rank rank) const;
  // Returns the numbers of the rank in its own world.
  RankNumbers numbers_of(Rank number) const;
  // Adds the variables of a training job (Job::training) to those of the rank. `inherited` is the
  // environment of its program.
  void add_training(Rank number, const std::vector<std::string>& inherited,
                    std::vector<std::string>& own) const;
  // Returns the variable with the GPUs of a rank, or "" if the job does not choose them.
  Result<std::string> gpus_of(Rank number) const;
  // Returns the words of the program for this rank, with their parts replaced if the job asks so.
  std::vector<std::string> words_of(const Program& program, Rank number) const;
  // Returns true if ranks inherit a connection to this agent (PMI_FD).
  bool inherits_connection() const;
  // Returns the PMI connection of a rank that inherits one, else an empty pair.
  Result<SocketPair> connection() const;
  // Starts a rank of Job::terminal_ranks on a new pseudo-terminal.
  tl::expected<StartedRank, RankFailure> start_on_terminal(Program& program, Rank rank);
  // A rank leads a session, as under Hydra: the kernel gives each session an equal share of a
  // processor (sched_autogroup_enabled). Ranks that shared a session would together get one share
  // beside other work.
  tl::expected<pid_t, RankFailure> execute(Program& program, Rank rank, const int (&descriptors)[4],
                                           ChildGroup group = ChildGroup::own_session);

  const Job* job_;
  RankSet own_;
  RankNodes nodes_;
  NodeFacts node_;
  Fd null_;
  WindowSize window_;
  bool held_ = false;  // the rank that is being started is to be stopped at its start
  std::vector<std::string> defaults_;
  std::map<std::size_t, Program> programs_;
  Program debugged_;  // the program that was found last for a rank of Job::debugged_ranks
  std::map<Rank, CpuMask> places_;
  std::map<Rank, MemoryPolicy> memory_;
};

}  // namespace scela::nla
