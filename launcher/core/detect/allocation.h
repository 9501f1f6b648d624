// The values for what a scheduler has given to the job in which scela-run runs: detect.h makes
// them, and launch_choice.h and launcher/plan/job_hosts.cpp use them. The header knows no variable
// and no command of a scheduler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

// The sources of hosts that are known. The order is that of detect(): an earlier one is preferred,
// because it can run inside a job of a later one. Flux instances run in jobs of others, and a host
// file is the weakest statement.
enum class Scheduler : std::uint8_t {
  flux,
  slurm,
  lsf,
  grid_engine,
  pbs,  // PBS Pro, OpenPBS, Torque, and PALS in their jobs
  cobalt,
  load_leveler,
  condor,  // HTCondor, parallel universe
  // A resource manager that tells the hosts by its PMIx server. It starts no agents.
  pmix,
  // A default host file that an environment names for MPI launchers, such as that of the MPI
  // Operator of Kubernetes. There is no job, and only ssh reaches the hosts.
  host_file,
};
inline constexpr Scheduler kSchedulers[] = {
    Scheduler::flux, Scheduler::slurm,    Scheduler::lsf,          Scheduler::grid_engine,
    Scheduler::pbs,  Scheduler::cobalt,   Scheduler::load_leveler, Scheduler::condor,
    Scheduler::pmix, Scheduler::host_file};

// Returns the name for texts, such as "Grid Engine".
std::string_view name_of(Scheduler scheduler);
// Returns the value of --launch that chooses the scheduler, such as "sge". Returns "" for
// host_file, which the user chooses with --hostfile.
std::string_view word_of(Scheduler scheduler);

// A host that the job may use.
struct AllocatedHost {
  std::string name;  // as the scheduler writes it, and its starter takes it; never shortened
  // The number of ranks that the job may run there, at least 1. Absent: the scheduler counts nodes
  // only.
  std::optional<std::uint32_t> slots;
  std::optional<std::uint32_t> cpus;  // processors of the job there, at least 1; absent: not told
  // The number by which the starter takes the host: the rank of its broker (Flux). Absent: it takes
  // the name.
  std::optional<std::uint32_t> number = std::nullopt;
  friend bool operator==(const AllocatedHost&, const AllocatedHost&) = default;
};

// The hosts of one job. Each host is there once, in the scheduler's order, and there is at least
// one.
struct Allocation {
  Scheduler scheduler = Scheduler::host_file;
  std::string job_id;  // may be empty
  std::vector<AllocatedHost> hosts;
  // The variable or file that names the hosts, as the user reads it: "PE_HOSTFILE=/spool/hosts".
  std::string source;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

// Returns the allocation in one line: "Grid Engine, job 7: 2 hosts, 4 slots, 8 processors
// (PE_HOSTFILE=/spool/hosts)". Slots and processors are left out if a host lacks them.
std::string allocation_text(const Allocation& allocation);

}  // namespace scela
