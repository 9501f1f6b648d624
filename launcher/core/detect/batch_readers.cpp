// Schedulers with simple lists: LSF, Grid Engine, PBS, Cobalt, LoadLeveler, HTCondor; and default
// host files of MPI launchers.
#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/readers.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

using Hosts = std::vector<AllocatedHost>;

// Reads the file that a variable names, and parses it. Errors name the variable and the file.
Result<Hosts> hosts_of_file(const Environment& environment, std::string_view name,
                            const Sources& read, Result<Hosts> (*parse)(std::string_view)) {
  const std::string path(environment.value(name));
  const auto failed = [&](Error error) {
    error.where = cat(name, "=", path);
    return fail(std::move(error));
  };
  auto text = read.file(path);
  if (!text) {
    // Schedulers remove the file with the job, and variables may live on in a shell.
    text.error().hint = cat("has the job ended? unset ", name);
    return failed(std::move(text.error()));
  }
  auto hosts = parse(*text);
  if (!hosts) return failed(std::move(hosts.error()));
  return hosts;
}

// Makes the allocation of a scheduler that names a file with one line for each slot.
Result<std::optional<Allocation>> by_line(const Environment& environment, const Sources& read,
                                          Scheduler scheduler, std::string_view file,
                                          std::string_view job_id) {
  const auto path = environment.find(file);
  if (!path) return std::nullopt;
  auto hosts = hosts_of_file(environment, file, read, hosts_by_line);
  if (!hosts) return fail(std::move(hosts.error()));
  return Allocation{scheduler, std::string(environment.value(job_id)), std::move(*hosts),
                    cat(file, "=", *path)};
}

// Reads "NUMBER HOST PORT USER ..." lines.
Result<Hosts> parse_contact_file(std::string_view text) {
  HostTally tally;
  for (const std::string& line : split_list(text, '\n')) {
    const auto words = split_list(line, ' ');
    if (words.size() < 3) return fail(value_error(cat("'", line, "' has no host and port")));
    if (auto added = tally.add(words[1], 1); !added) return fail(std::move(added.error()));
  }
  return tally.take();
}

// Reads either dialect of host files: "HOST slots=N" and "HOST:N".
Result<Hosts> parse_mpi_hostfile(std::string_view text) {
  auto entries = parse_hostfile(text, "");
  if (!entries) return fail(std::move(entries.error()));
  Hosts out;
  for (HostEntry& entry : *entries)
    out.push_back({std::move(entry.name), entry.slots, std::nullopt});
  return out;
}

}  // namespace

Result<std::optional<Allocation>> read_lsf(const Environment& environment, const Sources& read) {
  Allocation out;
  out.scheduler = Scheduler::lsf;
  out.job_id = environment.value("LSB_JOBID");
  const auto from_list = [&](std::string_view name, Result<Hosts> hosts) -> Result<void> {
    out.source = cat(name, "=", environment.value(name));
    if (!hosts) {
      hosts.error().where = out.source;
      return fail(std::move(hosts.error()));
    }
    out.hosts = std::move(*hosts);
    return {};
  };
  Result<void> done;
  if (environment.find("LSB_DJOB_HOSTFILE")) {
    auto hosts = hosts_of_file(environment, "LSB_DJOB_HOSTFILE", read, hosts_by_line);
    if (!hosts) return fail(std::move(hosts.error()));
    done = from_list("LSB_DJOB_HOSTFILE", std::move(hosts));
  } else if (const auto list = environment.find("LSB_MCPU_HOSTS")) {
    done = from_list("LSB_MCPU_HOSTS", parse_mcpu_hosts(*list));
  } else if (const auto names = environment.find("LSB_HOSTS")) {
    std::string lines(*names);
    std::ranges::replace(lines, ' ', '\n');
    done = from_list("LSB_HOSTS", hosts_by_line(lines));
  } else {
    return std::nullopt;
  }
  if (!done) return fail(std::move(done.error()));
  const auto affinity = environment.find("LSB_AFFINITY_HOSTFILE");
  if (!affinity) return out;
  auto text = read.file(std::string(*affinity));
  // Processors are a refinement: a job runs without them.
  if (text) static_cast<void>(add_affinity(*text, out.hosts));
  return out;
}

Result<std::optional<Allocation>> read_grid_engine(const Environment& environment,
                                                   const Sources& read) {
  const auto path = environment.find("PE_HOSTFILE");
  if (!path) return std::nullopt;
  auto hosts = hosts_of_file(environment, "PE_HOSTFILE", read, parse_pe_hostfile);
  if (!hosts) return fail(std::move(hosts.error()));
  std::string id(environment.value("JOB_ID"));
  // A task of an array job.
  const std::string_view task = environment.value("SGE_TASK_ID");
  if (!task.empty() && task != "undefined") id += cat(".", task);
  return Allocation{Scheduler::grid_engine, std::move(id), std::move(*hosts),
                    cat("PE_HOSTFILE=", *path)};
}

Result<std::optional<Allocation>> read_pbs(const Environment& environment, const Sources& read) {
  return by_line(environment, read, Scheduler::pbs, "PBS_NODEFILE", "PBS_JOBID");
}

Result<std::optional<Allocation>> read_cobalt(const Environment& environment, const Sources& read) {
  auto out = by_line(environment, read, Scheduler::cobalt, "COBALT_NODEFILE", "COBALT_JOBID");
  if (!out || !*out) return out;
  // Cobalt gives whole nodes, and each of them has one line.
  const bool counts_nodes = std::ranges::all_of(
      (*out)->hosts, [](const AllocatedHost& host) { return host.slots == 1u; });
  for (AllocatedHost& host : (*out)->hosts)
    if (counts_nodes) host.slots.reset();
  return out;
}

Result<std::optional<Allocation>> read_load_leveler(const Environment& environment,
                                                    const Sources& read) {
  return by_line(environment, read, Scheduler::load_leveler, "LOADL_HOSTFILE", "LOADL_STEP_ID");
}

Result<std::optional<Allocation>> read_condor(const Environment& environment, const Sources& read) {
  // Only a parallel job has a number of processes, and its script names the contact file.
  const auto path = environment.find("CONDOR_CONTACT_FILE");
  if (!path || !environment.find("_CONDOR_NPROCS")) return std::nullopt;
  auto hosts = hosts_of_file(environment, "CONDOR_CONTACT_FILE", read, parse_contact_file);
  if (!hosts) return fail(std::move(hosts.error()));
  return Allocation{Scheduler::condor, "", std::move(*hosts), cat("CONDOR_CONTACT_FILE=", *path)};
}

Result<std::optional<Allocation>> read_host_file(const Environment& environment,
                                                 const Sources& read) {
  constexpr std::string_view kVariables[] = {"HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile",
                                             "PRTE_MCA_prte_default_hostfile",
                                             "I_MPI_HYDRA_HOST_FILE"};
  constexpr std::string_view kOperatorFile = "/etc/mpi/hostfile";
  const auto set = std::ranges::find_if(
      kVariables, [&](std::string_view name) { return environment.find(name).has_value(); });
  Allocation out;
  if (set != std::end(kVariables)) {
    auto hosts = hosts_of_file(environment, *set, read, parse_mpi_hostfile);
    if (!hosts) return fail(std::move(hosts.error()));
    out.hosts = std::move(*hosts);
    out.source = cat(*set, "=", environment.value(*set));
    return out;
  }
  if (environment.value("K_MPI_JOB_ROLE") != "launcher") return std::nullopt;
  auto text = read.file(std::string(kOperatorFile));
  if (!text) return std::nullopt;
  auto hosts = parse_mpi_hostfile(*text);
  if (!hosts) {
    hosts.error().where = kOperatorFile;
    return fail(std::move(hosts.error()));
  }
  out.hosts = std::move(*hosts);
  out.source = cat("K_MPI_JOB_ROLE=launcher, ", kOperatorFile);
  return out;
}

}  // namespace scela
