#include "launcher/plan/job_hosts.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "launcher/core/detect/detect.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/values/text_values.h"
#include "launcher/plan/plan.h"

namespace scela {

namespace {

std::string padded(std::uint32_t number, std::uint32_t count) {
  const std::string digits = cat(number);
  const std::size_t width = cat(count - 1).size();
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

bool is_here(const std::string& name, const LaunchContext& context) {
  // A user or a port asks for a session of ssh.
  const LoginParts parts = parts_of_login(name);
  if (parts.port || !parts.user.empty()) return false;
  return name == "localhost" || name.starts_with("127.") || name == context.host_name ||
         context.host_name.starts_with(name + ".");
}

// Returns the hosts that are named for the whole job, or an empty list if no hosts are named.
Result<std::vector<HostEntry>> named_hosts(const Options& options, const LaunchContext& context) {
  if (context.joined_hosts) return parse_hostfile(*context.joined_hosts, "--listen");
  if (options.hosts) return parse_hosts(*options.hosts);
  if (options.hostfile) {
    return parse_hostfile(context.hostfile_text.value_or(""), *options.hostfile);
  }
  if (options.rank_places.empty() || options.sim_nodes) return std::vector<HostEntry>();
  return hosts_of(options.rank_places);
}

// Returns the hosts of an allocation. This machine has its own name there, because the agent here
// is started without a starter, and schedulers often add a domain.
std::vector<HostEntry> allocated_hosts(const Allocation& allocation, const LaunchContext& context) {
  std::vector<HostEntry> out;
  for (const AllocatedHost& host : allocation.hosts) {
    const bool is_own = is_same_machine(host.name, context.host_name);
    out.push_back({is_own ? context.host_name : host.name, host.slots});
  }
  return out;
}

bool is_variable(std::string_view name, const LaunchContext& context) {
  return std::ranges::any_of(context.environment, [&](std::string_view variable) {
    return variable_name(variable) == name;
  });
}

// mpirun's -x NAME passes on a variable; here -x excludes a host. A name that is a variable and no
// host of the job is an error.
Result<void> check_excluded(const std::string& spec, const std::vector<HostEntry>& hosts,
                            const LaunchContext& context) {
  std::string names = spec;
  std::ranges::replace(names, '\n', ',');
  for (const std::string& name : split_list(names, ',')) {
    if (std::ranges::find(hosts, name, &HostEntry::name) != hosts.end()) continue;
    if (!is_variable(name, context)) continue;
    return fail(Error{ErrorKind::usage, "option --exclude", "",
                      cat("'", name, "' is a variable, and no host of the job"),
                      "ranks inherit all variables: leave it out"});
  }
  return {};
}

}  // namespace

bool names_no_hosts(const Options& options) {
  return !options.listen && !options.hosts && !options.hostfile && !options.sim_nodes &&
         options.rank_places.empty() &&
         std::ranges::none_of(options.apps, [](const App& app) { return app.hosts.has_value(); });
}

Result<std::vector<HostEntry>> find_hosts(const Options& options, const LaunchContext& context) {
  auto named = named_hosts(options, context);
  if (!named) return named;
  std::vector<HostEntry> hosts = std::move(*named);
  for (const App& app : options.apps) {
    if (!app.hosts) continue;
    auto more = parse_hosts(*app.hosts);
    if (!more) return more;
    for (HostEntry& host : *more) {
      const auto same = [&](const HostEntry& known) { return known.name == host.name; };
      if (std::none_of(hosts.begin(), hosts.end(), same)) hosts.push_back(std::move(host));
    }
  }
  if (options.sim_nodes) {
    if (!hosts.empty()) {
      return fail(Error{ErrorKind::usage, "read the command line", "",
                        "--sim-nodes makes up its own nodes; a host list was given too",
                        "drop one of them, or use --launch local to simulate the hosts named"});
    }
    for (std::uint32_t i = 0; i < *options.sim_nodes; ++i) {
      hosts.push_back({cat("sim", padded(i, *options.sim_nodes)), std::nullopt});
    }
  }
  if (hosts.empty() && context.allocation) hosts = allocated_hosts(*context.allocation, context);
  if (hosts.empty()) hosts.push_back({context.host_name, std::nullopt});
  if (options.exclude) {
    if (auto fits = check_excluded(*options.exclude, hosts, context); !fits)
      return fail(fits.error());
    auto left = exclude_hosts(std::move(hosts), *options.exclude);
    if (!left) return left;
    hosts = std::move(*left);
  }
  if (hosts.empty()) {
    return fail(Error{ErrorKind::usage, "choose the nodes", "", "the host list is empty",
                      "name at least one host with --hosts or --hostfile"});
  }
  if (context.missing.empty()) return hosts;
  std::set<std::string_view> missing;
  for (const MissingHost& host : context.missing)
    missing.insert(host.host);
  std::erase_if(hosts, [&](const HostEntry& host) { return missing.contains(host.name); });
  if (hosts.empty()) {
    const MissingHost& first = context.missing.front();
    return fail(Error{ErrorKind::unreachable, cat("reach any host (", first.phase, ")"), first.host,
                      first.why, ""});
  }
  return hosts;
}

bool is_remote(const Options& options, const Plan& plan, const LaunchContext& context) {
  if (options.sim_nodes || options.launch == LaunchMethod::local) return false;
  if (context.joined_hosts) return true;  // agents that run already are not started here
  const auto here = [&](const std::string& name) { return is_here(name, context); };
  return !std::ranges::all_of(plan.hosts, here) ||
         !std::ranges::all_of(plan.later, here,
                              [](const AgentlessHost& host) { return host.node.name; });
}

bool has_ranks_here_only(const Plan& plan, const LaunchContext& context) {
  if (!plan.remote) return true;
  if (plan.slots_from_processors) return false;  // any of its hosts may get ranks
  for (std::uint32_t node = 0; node < plan.hosts.size(); ++node) {
    if (!is_here(plan.hosts[node], context) && !plan.job.map.ranks_of(node).empty()) return false;
  }
  return true;
}

bool is_once_per_host(const Options& options, const std::vector<HostEntry>& hosts) {
  if (!options.hosts && !options.hostfile && !options.on_each_host) return false;
  if (options.apps.size() != 1 || options.apps[0].np || options.apps[0].ppn) return false;
  if (placement_of(options.placement, false).counts_objects() || options.rankfile) return false;
  return std::none_of(hosts.begin(), hosts.end(),
                      [](const HostEntry& host) { return host.slots.has_value(); });
}

bool runs_once_per_host(const Options& options, const LaunchContext& context) {
  const auto hosts = find_hosts(options, context);
  return hosts && is_once_per_host(options, *hosts);
}

Result<std::vector<std::uint32_t>> nodes_of_program(const App& app,
                                                    const std::vector<MapNode>& hosts) {
  std::vector<std::uint32_t> out;
  if (!app.hosts) return out;
  auto parsed = parse_hosts(*app.hosts);
  if (!parsed) return fail(parsed.error());
  std::map<std::string_view, std::uint32_t> index;
  for (const MapNode& host : hosts)
    index.emplace(host.name, static_cast<std::uint32_t>(index.size()));
  for (const HostEntry& host : *parsed) {
    const auto at = index.find(host.name);
    if (at == index.end()) {
      return fail(Error{ErrorKind::usage, "place a program", host.name,
                        "the host is not among the job's hosts",
                        "it may have been removed by --exclude"});
    }
    out.push_back(at->second);
  }
  return out;
}

Result<Options> without_missing_hosts(const Options& options, const std::vector<MapNode>& left) {
  Options out = options;
  for (App& app : out.apps) {
    if (!app.hosts) continue;
    auto own = parse_hosts(*app.hosts);
    if (!own) return fail(own.error());
    std::string kept;
    for (const HostEntry& host : *own) {
      const auto same = [&](const MapNode& node) { return node.name == host.name; };
      if (std::ranges::none_of(left, same)) continue;
      kept += cat(kept.empty() ? "" : ",", host_text({host.name, std::nullopt}));
    }
    if (kept.empty()) {
      return fail(Error{ErrorKind::unreachable, "place a program", *app.hosts,
                        "none of the hosts that it names has an agent", ""});
    }
    app.hosts = std::move(kept);
  }
  return out;
}

RankMap renumbered(const RankMap& map, const std::vector<std::uint32_t>& numbers) {
  RankMap out;
  for (const RankMap::Block& block : map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i) {
      out.append(numbers[block.first_node + i], block.ranks_per_node);
    }
  }
  return out;
}

std::vector<AgentlessHost> drop_idle_hosts(std::vector<HostEntry>& hosts, RankMap& map) {
  std::vector<bool> used(hosts.size(), false);
  for (const RankMap::Block& block : map.blocks()) {
    std::fill_n(used.begin() + block.first_node, block.nodes, true);
  }
  std::vector<AgentlessHost> later;
  if (std::find(used.begin(), used.end(), false) == used.end()) return later;
  std::vector<std::uint32_t> moved(hosts.size(), 0);
  std::vector<HostEntry> kept;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    moved[i] = static_cast<std::uint32_t>(kept.size());
    if (used[i]) {
      kept.push_back(std::move(hosts[i]));
    } else {
      later.push_back({{std::move(hosts[i].name), hosts[i].slots}, {}});
    }
  }
  map = renumbered(map, moved);
  hosts = std::move(kept);
  return later;
}

std::vector<MapNode> nodes_of(const std::vector<HostEntry>& hosts) {
  std::vector<MapNode> nodes;
  for (const HostEntry& host : hosts)
    nodes.push_back({host.name, host.slots});
  return nodes;
}

Result<std::vector<HostEntry>> take_spares(std::vector<HostEntry>& hosts, const Options& options,
                                           std::size_t missing) {
  std::vector<HostEntry> spares;
  if (options.spares == 0) return spares;
  const std::size_t all = hosts.size() + missing;
  if (options.spares >= all || is_once_per_host(options, hosts)) {
    return fail(Error{ErrorKind::usage, "keep spare hosts (--spares)", "",
                      options.spares >= all
                          ? cat(options.spares, " of ", all, " hosts would leave none")
                          : std::string("a command that runs once on each host needs none"),
                      "give the number of ranks with -n or --ppn, and more hosts than spares"});
  }
  for (const std::size_t needed = all - options.spares; hosts.size() > needed; hosts.pop_back())
    spares.push_back(std::move(hosts.back()));
  std::ranges::reverse(spares);
  return spares;
}

Result<void> choose_min_nodes(Plan& plan, const Options& options) {
  const auto nodes = static_cast<std::uint32_t>(plan.hosts.size());
  // Hosts that were missing from the start have used up spares, or there are even more of them than
  // spares.
  const auto missing = static_cast<std::uint32_t>(plan.missing.size());
  const std::uint32_t lacking =
      options.spares > 0 && missing > options.spares ? missing - options.spares : 0;
  plan.min_nodes =
      options.min_nodes.value_or(plan.once_per_host ? 0 : nodes - plan.spares + lacking);
  if (plan.min_nodes <= nodes) return {};
  if (plan.missing.empty()) {
    return fail(Error{ErrorKind::usage, "choose the nodes", "",
                      cat("--min-nodes asks for ", plan.min_nodes, ", the job has ", nodes),
                      "name more hosts"});
  }
  const MissingHost& first = plan.missing.front();
  return fail(Error{ErrorKind::unreachable,
                    cat("reach ", plan.min_nodes, " hosts (--min-nodes): ", nodes,
                        " are left; the first that failed (", first.phase, ")"),
                    first.host, first.why, ""});
}

Slice add_later(Plan& plan, const std::vector<std::size_t>& positions) {
  const auto first = static_cast<std::uint32_t>(plan.hosts.size());
  for (const std::size_t at : positions) {
    plan.hosts.push_back(plan.later[at].node.name);
    plan.slots.push_back(plan.later[at].node.slots);
  }
  for (std::size_t i = positions.size(); i-- > 0;)
    plan.later.erase(plan.later.begin() + static_cast<std::ptrdiff_t>(positions[i]));
  const Slice added{first, static_cast<std::uint32_t>(plan.hosts.size())};
  plan.idle.add(RankSet::run(added.first, added.size()));
  return added;
}

RankSet unused_spares(const Plan& plan, const RankSet& failed) {
  RankSet out;
  std::size_t needed = plan.hosts.size() - plan.spares;
  for (std::uint32_t i = 0; plan.spares > 0 && i < plan.hosts.size(); ++i) {
    if (failed.contains(i)) continue;
    if (needed == 0) {
      out.add(i);
    } else {
      --needed;
    }
  }
  return out;
}

}  // namespace scela
