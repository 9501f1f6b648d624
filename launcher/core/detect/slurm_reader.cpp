// Slurm: node lists, counts of tasks and processors, steps, heterogeneous jobs, arbitrary
// distributions.
#include <algorithm>
#include <set>

#include "common/core/text.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/readers.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Names of the variables of one list of nodes.
struct ListNames {
  std::string nodes;
  std::string tasks;     // tasks of each node; counts as slots
  std::string cpus;      // processors of each node
  std::string per_task;  // processors of a task
};

Error at_variable(Error error, std::string_view name) {
  error.where = name;
  return error;
}

// Returns the counts of one variable, one for each host, or none if the variable is not set.
// Returns an error if there are not as many as hosts.
Result<std::vector<std::uint32_t>> counts_of(const Environment& environment,
                                             const std::string& name, std::size_t hosts) {
  const auto value = environment.find(name);
  if (!value) return std::vector<std::uint32_t>();
  auto counts = expand_counts(*value, hosts);
  if (!counts) return fail(at_variable(std::move(counts.error()), cat(name, "=", *value)));
  if (counts->size() == hosts) return counts;
  return fail(
      at_variable(value_error(cat("it has ", counts->size(), " counts for ", hosts, " hosts")),
                  cat(name, "=", *value)));
}

// Adds the hosts of one list to `hosts`.
Result<void> add_list(const Environment& environment, const ListNames& names,
                      std::vector<AllocatedHost>& hosts) {
  const std::string_view list = environment.value(names.nodes);
  auto nodes = expand_node_list(list);
  if (!nodes) return fail(at_variable(std::move(nodes.error()), cat(names.nodes, "=", list)));
  auto tasks = counts_of(environment, names.tasks, nodes->size());
  if (!tasks) return fail(std::move(tasks.error()));
  auto cpus = counts_of(environment, names.cpus, nodes->size());
  if (!cpus) return fail(std::move(cpus.error()));
  const auto per_task = parse_number(environment.value(names.per_task), 1, kMaxOfHost);
  std::set<std::string, std::less<>> seen;
  for (const AllocatedHost& host : hosts)
    seen.insert(host.name);
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    if (!seen.insert((*nodes)[i]).second) continue;
    AllocatedHost host{std::move((*nodes)[i]), std::nullopt, std::nullopt};
    if (!cpus->empty()) host.cpus = (*cpus)[i];
    if (!tasks->empty()) {
      host.slots = (*tasks)[i];
    } else if (host.cpus) {
      host.slots = std::max(1u, *host.cpus / per_task.value_or(1));
    }
    hosts.push_back(std::move(host));
  }
  return {};
}

// The file of an arbitrary distribution names a host for each task, in the order of the tasks. The
// order within the file is kept for hosts, and not for single ranks.
Result<void> use_host_file(const Environment& environment, const Sources& read,
                           std::vector<AllocatedHost>& hosts) {
  const std::string path(environment.value("SLURM_HOSTFILE"));
  const std::string where = cat("SLURM_HOSTFILE=", path);
  auto text = read.file(path);
  if (!text) return fail(at_variable(std::move(text.error()), where));
  auto named = hosts_by_line(*text);
  if (!named) return fail(at_variable(std::move(named.error()), where));
  for (AllocatedHost& host : *named) {
    const auto known = std::ranges::find(hosts, host.name, &AllocatedHost::name);
    if (known == hosts.end()) {
      return fail(
          at_variable(value_error(cat("'", host.name, "' is not a host of the job"),
                                  "unset SLURM_HOSTFILE, or name hosts of the job in the file"),
                      where));
    }
    host.cpus = known->cpus;
  }
  if (!named->empty()) hosts = std::move(*named);
  return {};
}

}  // namespace

Result<std::optional<Allocation>> read_slurm(const Environment& environment, const Sources& read) {
  Allocation out;
  out.scheduler = Scheduler::slurm;
  out.job_id = environment.find("SLURM_JOB_ID").value_or(environment.value("SLURM_JOBID"));
  ListNames names{"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
                  "SLURM_CPUS_PER_TASK"};
  // A step may have a part of the job's hosts, and srun has set its variables last.
  if (environment.find("SLURM_STEP_NODELIST")) {
    names = {"SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "", "SLURM_CPUS_PER_TASK"};
  } else if (!environment.find(names.nodes) && environment.find("SLURM_NODELIST")) {
    names.nodes = "SLURM_NODELIST";
  }
  const auto parts = parse_number(environment.value("SLURM_HET_SIZE"), 1, 1024);
  const bool is_het = parts && names.nodes != "SLURM_STEP_NODELIST" &&
                      environment.find("SLURM_JOB_NODELIST_HET_GROUP_0");
  if (is_het) {
    for (std::uint32_t part = 0; part < *parts; ++part) {
      const std::string suffix = cat("_HET_GROUP_", part);
      if (auto added =
              add_list(environment,
                       {cat("SLURM_JOB_NODELIST", suffix), cat("SLURM_TASKS_PER_NODE", suffix),
                        cat("SLURM_JOB_CPUS_PER_NODE", suffix), cat("SLURM_CPUS_PER_TASK", suffix)},
                       out.hosts);
          !added)
        return fail(std::move(added.error()));
    }
    out.source = cat("SLURM_JOB_NODELIST_HET_GROUP_0 to _", *parts - 1);
  } else {
    if (!environment.find(names.nodes)) return std::nullopt;
    if (auto added = add_list(environment, names, out.hosts); !added)
      return fail(std::move(added.error()));
    out.source = cat(names.nodes, "=", environment.value(names.nodes));
  }
  if (environment.find("SLURM_HOSTFILE")) {
    if (auto used = use_host_file(environment, read, out.hosts); !used)
      return fail(std::move(used.error()));
    out.source += cat(", SLURM_HOSTFILE=", environment.value("SLURM_HOSTFILE"));
  }
  return out;
}

}  // namespace scela
