#include "launcher/core/detect/bulk_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "common/core/rank_set.h"
#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "launcher/core/detect/bulk_roster.h"
#include "launcher/core/detect/environment.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

using Words = std::vector<std::string>;

// The variables that a login has, and those by which srun is executed.
bool is_of_a_login(std::string_view name) {
  constexpr std::string_view kKept[] = {"PATH", "HOME", "USER",   "LOGNAME",    "SHELL",
                                        "LANG", "TZ",   "TMPDIR", "KRB5CCNAME", "LD_LIBRARY_PATH"};
  return std::ranges::find(kKept, name) != std::end(kKept) || name.starts_with("LC_");
}

bool finds_the_job(std::string_view name) {
  constexpr std::string_view kKept[] = {"SLURM_CONF",     "SLURM_CONF_SERVER", "SLURM_JOB_ID",
                                        "SLURM_JOBID",    "SLURM_JWT",         "SLURM_CLUSTER_NAME",
                                        "SLURM_CLUSTERS", "SLURM_HET_SIZE"};
  return std::ranges::find(kKept, name) != std::end(kKept) ||
         name.starts_with("SLURM_WORKING_CLUSTER");
}

// Returns the part of a heterogeneous job that has this host, or std::nullopt if there is none.
std::optional<std::uint32_t> part_of(const Environment& environment, const std::string& host) {
  const auto parts = parse_number(environment.value("SLURM_HET_SIZE"), 1, 1024);
  for (std::uint32_t part = 0; parts && part < *parts; ++part) {
    const auto names =
        expand_node_list(environment.value(cat("SLURM_JOB_NODELIST_HET_GROUP_", part)));
    if (names && std::ranges::find(*names, host) != names->end()) return part;
  }
  return std::nullopt;
}

Words srun_words(const Words& environment, const Words& hosts) {
  Words words = {"srun", "--quiet"};
  if (const auto part = part_of(Environment(environment), hosts.front()))
    words.push_back(cat("--het-group=", *part));
  if (has_external_launcher(environment)) {
    words.emplace_back("--external-launcher");
  } else {
    words.emplace_back("--overlap");
    words.emplace_back("--mem=0");
  }
  for (const char* word :
       {"--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--kill-on-bad-exit=0", "--no-kill",
        "--wait=0", "--input=all", "--export=ALL", "--chdir=/", "--ntasks-per-node=1"})
    words.emplace_back(word);
  std::string list;
  for (const std::string& host : hosts)
    list += cat(list.empty() ? "" : ",", host);
  words.push_back(cat("--nodes=", hosts.size()));
  words.push_back(cat("--ntasks=", hosts.size()));
  words.push_back(cat("--nodelist=", list));
  return words;
}

// Returns the words with the ranks of the brokers, such as "0,2-3" (RFC 22 of Flux). Only the first
// broker of a host is among them. Options are cut off at the first word that is none, the agent.
Words flux_words(const BulkStarter& starter, const Words& hosts) {
  Words names;
  for (const AllocatedHost& host : starter.hosts)
    names.push_back(host.name);
  RankSet ranks;
  for (const std::string& host : hosts) {
    const auto at = host_called(names, host);
    if (at) ranks.add(starter.hosts[*at].number.value_or(static_cast<std::uint32_t>(*at)));
  }
  // The directory is that of scela-run without -d, which a node may lack.
  return {"flux", "exec", "-r", ranks.text(), "-d", "/"};
}

// Returns the words that execute the agent on the hosts, with its arguments. The name of each host
// stands behind `agent`.
Words words_of(const BulkStarter& starter, const Words& environment, const Words& hosts,
               const Words& agent, const Words& more) {
  const bool is_flux = starter.scheduler == Scheduler::flux;
  Words words = is_flux ? flux_words(starter, hosts) : srun_words(environment, hosts);
  words.insert(words.end(), agent.begin(), agent.end());
  // flux exec tells a process neither the rank of its broker nor a name.
  if (is_flux)
    words.emplace_back("--own-name");
  else
    words.insert(words.end(), {"--name-from", "SLURMD_NODENAME"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

bool has_external_launcher(const std::vector<std::string>& environment) {
  // Those of Open MPI, PRRTE, Hydra and Intel MPI. A site may switch some of them off.
  return std::ranges::any_of(environment, [](std::string_view variable) {
    return variable.ends_with("=--external-launcher");
  });
}

std::vector<std::vector<std::string>> bulk_parts(const BulkStarter& starter,
                                                 const std::vector<std::string>& environment,
                                                 const std::vector<std::string>& hosts) {
  if (starter.scheduler == Scheduler::flux) return {hosts};
  std::map<std::optional<std::uint32_t>, Words> parts;
  for (const std::string& host : hosts)
    parts[part_of(Environment(environment), host)].push_back(host);
  std::vector<Words> out;
  for (auto& [part, names] : parts)
    out.push_back(std::move(names));
  return out;
}

std::vector<std::string> bulk_words(const BulkStarter& starter,
                                    const std::vector<std::string>& environment,
                                    const std::vector<std::string>& hosts, const BulkAgent& agent) {
  Words more = {"--id", agent.build};
  if (starter.scheduler == Scheduler::slurm && !agent.credential.empty())
    more.insert(more.end(), {"--credential", agent.credential});
  return words_of(starter, environment, hosts, {agent.path, "--dial", agent.dial}, more);
}

std::vector<std::string> sweep_words(const BulkStarter& starter,
                                     const std::vector<std::string>& environment,
                                     const std::vector<std::string>& hosts,
                                     const std::string& agent, const std::string& job_id) {
  return words_of(starter, environment, hosts, {agent, "--sweep"}, {"--job", job_id});
}

std::vector<std::string> bulk_environment(const BulkStarter& starter,
                                          const std::vector<std::string>& environment) {
  if (starter.scheduler == Scheduler::flux) return environment;
  std::vector<std::string> out;
  for (const std::string& variable : environment) {
    const std::string_view name = variable_name(variable);
    if (is_of_a_login(name) || finds_the_job(name)) out.push_back(variable);
  }
  // Safe with every version: srun then knows that another launcher's agents are started.
  out.emplace_back("SLURM_EXTERNAL_LAUNCHER=1");
  return out;
}

}  // namespace scela
