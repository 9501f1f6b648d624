#include "launcher/core/compat/peer_tool.h"

#include <algorithm>
#include <iterator>

#include "launcher/core/compat/option_rows.h"

namespace scela {
namespace {

constexpr PeerName kNames[] = {
    {"mpiexec", Peer::hydra, Peer::openmpi},
    {"mpirun", Peer::openmpi, Peer::hydra},
    {"mpiexec.hydra", Peer::hydra},
    {"mpirun.openmpi", Peer::openmpi},
    {"mpiexec.openmpi", Peer::openmpi},
    {"srun", Peer::srun},
    {"pdsh", Peer::pdsh},
    {"clush", Peer::clush},
    {"dshbak", Peer::dshbak},
    {"pdcp", Peer::pdcp},
};

constexpr std::string_view kHydraDefaults[] = {
    "Hosts without a number have one slot. The slots are filled in turn, as often as the ranks "
    "need.",
    "Without -n there is one rank for each slot of the hosts, or else of the scheduler's job, and "
    "one if there is neither.",
    "HYDRA_HOST_FILE names the hosts if no option does; other HYDRA_* variables are not read.",
    "MPIEXEC_TIMEOUT is the time limit of the job in seconds. The exit status is then 124, and not "
    "255.",
    "A rank that exits with another status than 0 ends the job, as others may wait for it. Hydra "
    "lets the others go on if that rank is not between MPI_Init and MPI_Finalize; "
    "-disable-auto-cleanup does so here, for all failures.",
    "The exit status is that of the first rank that fails, and not the OR of all of them.",
};
constexpr std::string_view kOpenmpiDefaults[] = {
    "Each mention of a host in --host is a slot, as is each core of a host of --hostfile. More "
    "ranks than slots are refused, unless they are allowed.",
    "Without -np there is one rank for each slot, and one for each core of this machine without "
    "hosts, where more ranks are not refused.",
    "-x NAME is a variable, and never a host. Ranks get all other variables too.",
    "Programs find OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE and _NODE_RANK, and "
    "OMPI_UNIVERSE_SIZE, as under Open MPI 4. Other OMPI_* variables are not set.",
    "Ranks are not bound unless an option says so.",
    "The exit status is that of the first rank that fails.",
};
constexpr std::string_view kSrunDefaults[] = {
    "There is no scheduler: the hosts are those of -w, of -F, or of SLURM_JOB_NODELIST, and this "
    "machine without any. They are reached by ssh.",
    "Without -n there is one task on each host, or as many as SLURM_NTASKS says in an allocation.",
    "All tasks read standard input, the others go on when one fails, and the exit status is the "
    "largest.",
    "Other variables of srun (SLURM_*, SRUN_*) set no options, and tasks find SCELA_* variables in "
    "place of SLURM_PROCID and its like.",
};
constexpr std::string_view kPdshDefaults[] = {
    "The words of the command are joined by blanks and go to the login shell of each host, in its "
    "home directory, without standard input.",
    "The exit status is 0 however the command ends, unless -S is given; 255 for a host that is not "
    "reached is 68 here.",
    "In the command, %h is the host, %n its number in the list, %u the user and %% a percent sign.",
    "WCOLL names a file of hosts if no option does. Hosts are reached by ssh unless -R or "
    "SCELA_LAUNCH says otherwise.",
    "What the command leaves running goes on. A last line on standard error counts the hosts that "
    "did not do well.",
    "Without a command there is no prompt.",
};
constexpr std::string_view kClushDefaults[] = {
    "The words of the command are joined by blanks and go to the login shell of each host, in its "
    "home directory.",
    "Standard input goes to all hosts, unless it is a terminal or -n is given.",
    "The exit status is 0 however the command ends, unless -S is given; 255 for a host that is not "
    "reached is 68 here.",
    "What the command leaves running goes on. A last line on standard error counts the hosts that "
    "did not do well.",
    "Without a command there is no prompt. Groups and the files of ClusterShell are not read.",
};
constexpr std::string_view kDshbakDefaults[] = {
    "Lines of the form 'host: text' are read from standard input, and shown by host when it ends.",
};
constexpr std::string_view kPdcpDefaults[] = {
    "Every call is refused, because scela-run copies no files yet; use scp or rsync for each host.",
};

constexpr std::string_view kOfRanks =
    "[OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...";
constexpr PeerFacts kFacts[] = {
    {"mpiexec of MPICH (Hydra 4)", kHydraDefaults, kOfRanks},
    {"mpirun of Open MPI 4 and 5", kOpenmpiDefaults, kOfRanks},
    {"srun of Slurm", kSrunDefaults, kOfRanks},
    {"pdsh", kPdshDefaults, "[OPTIONS] COMMAND..."},
    {"clush of ClusterShell", kClushDefaults, "[OPTIONS] COMMAND..."},
    {"dshbak", kDshbakDefaults, "[OPTIONS]"},
    {"pdcp", kPdcpDefaults, "[OPTIONS] FILE... TARGET"},
};

}  // namespace

std::span<const PeerName> peer_names() {
  return kNames;
}

const PeerName* find_peer(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &PeerName::name);
  return found == std::end(kNames) ? nullptr : found;
}

std::span<const PeerOption> peer_options(Peer peer) {
  switch (peer) {
    case Peer::hydra:
      return peer_tables::hydra();
    case Peer::openmpi:
      return peer_tables::openmpi();
    case Peer::srun:
      return peer_tables::srun();
    case Peer::pdsh:
    case Peer::pdcp:
      return peer_tables::pdsh();
    case Peer::clush:
      return peer_tables::clush();
    case Peer::dshbak:
      return peer_tables::dshbak();
  }
  return {};
}

const PeerFacts& facts_of(Peer peer) {
  return kFacts[static_cast<std::size_t>(peer)];
}

}  // namespace scela
