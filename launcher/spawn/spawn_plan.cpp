#include "launcher/spawn/spawn_plan.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

tl::unexpected<Error> refused(std::string why) {
  return fail(Error{ErrorKind::usage, std::move(why), "", "", ""});
}

class Placement {
 public:
  Placement(const Plan& plan, const RankSet& failed)
      : plan_(plan), used_(plan.hosts.size() + plan.later.size(), 0) {
    for (const RankMap::Block& block : plan.job.map.blocks()) {
      for (std::uint32_t i = 0; i < block.nodes; ++i)
        used_[block.first_node + i] += block.ranks_per_node;
    }
    for (std::uint32_t node = 0; node < plan.hosts.size(); ++node) {
      // Spares replace hosts that fail; they do not take more ranks.
      if (failed.contains(node)) continue;
      if (used_[node] > 0 || plan.idle.contains(node)) nodes_.push_back(node);
    }
    // A host that could not be reached once is not tried again for ranks that may run elsewhere.
    for (std::size_t i = 0; i < plan.later.size(); ++i)
      if (plan.later[i].why.empty()) nodes_.push_back(number_of_later(i));
  }

  // Places the ranks of one program. If `hosts` is not empty, it has the only hosts allowed, in
  // their order, each with its number of ranks.
  Result<void> place(std::uint32_t ranks, std::string_view hosts, RankMap& map) {
    std::vector<std::uint32_t> nodes = nodes_;
    std::vector<HostEntry> wanted;
    if (!hosts.empty()) {
      auto parsed = parse_hosts(hosts, "info host", used_.size());
      if (!parsed) return fail(parsed.error());
      wanted = std::move(*parsed);
      if (auto found = nodes_of(wanted, nodes); !found) return found;
    }
    if (nodes.empty()) return refused("no host is left on which ranks could run");
    std::map<std::uint32_t, std::uint32_t> counts;
    const auto put = [&](std::uint32_t node, std::uint64_t count) {
      counts[node] += static_cast<std::uint32_t>(count);
      used_[node] += count;
      ranks -= static_cast<std::uint32_t>(count);
    };
    for (std::size_t i = 0; i < wanted.size(); ++i)
      put(nodes[i], std::min(ranks, wanted[i].slots.value_or(0)));
    for (const std::uint32_t node : nodes) {
      const std::uint64_t slots = slots_of(node).value_or(0);
      if (slots > used_[node]) put(node, std::min<std::uint64_t>(ranks, slots - used_[node]));
    }
    fill(nodes, ranks, put);
    for (const std::uint32_t node : nodes) {
      if (counts[node] == 0) continue;
      map.append(node, counts[node]);
      if (node >= plan_.hosts.size()) later_.add(RankSet::single(node));
    }
    return {};
  }
  // Returns the ascending positions in Plan::later of the hosts that got ranks.
  std::vector<std::size_t> later() const {
    std::vector<std::size_t> out;
    later_.for_each([&](std::uint32_t node) { out.push_back(node - plan_.hosts.size()); });
    return out;
  }

 private:
  // Hosts outside the tree get the numbers after those in the tree.
  std::uint32_t number_of_later(std::size_t position) const {
    return static_cast<std::uint32_t>(plan_.hosts.size() + position);
  }
  std::optional<std::uint32_t> slots_of(std::uint32_t node) const {
    if (node < plan_.hosts.size()) return plan_.slots[node];
    return plan_.later[node - plan_.hosts.size()].node.slots;
  }
  Result<void> nodes_of(const std::vector<HostEntry>& hosts,
                        std::vector<std::uint32_t>& out) const {
    out.clear();
    for (const HostEntry& host : hosts) {
      const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](std::uint32_t number) {
        return number < plan_.hosts.size() && plan_.hosts[number] == host.name;
      });
      const auto later =
          std::find_if(plan_.later.begin(), plan_.later.end(),
                       [&](const AgentlessHost& one) { return one.node.name == host.name; });
      if (node != nodes_.end()) {
        out.push_back(*node);
      } else if (later != plan_.later.end()) {
        out.push_back(number_of_later(static_cast<std::size_t>(later - plan_.later.begin())));
      } else {
        return refused(why_not(host.name));
      }
    }
    return {};
  }
  std::string why_not(const std::string& host) const {
    const bool known = std::find(plan_.hosts.begin(), plan_.hosts.end(), host) != plan_.hosts.end();
    if (known) return cat("host '", host, "' has no agent any more, or is a spare");
    return cat("host '", host, "' is not among the job's hosts (--hosts, --hostfile)");
  }

  template <class Put>
  void fill(const std::vector<std::uint32_t>& nodes, const std::uint32_t& ranks, const Put& put) {
    // The load of a node is its ranks per slot in units of 1/2^16. Among equal loads, the first
    // node of the list wins.
    using Load = std::pair<std::uint64_t, std::size_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    const auto load = [&](std::size_t i) {
      const std::uint64_t slots = std::max(slots_of(nodes[i]).value_or(1), 1u);
      return Load{(used_[nodes[i]] << 16) / slots, i};
    };
    for (std::size_t i = 0; ranks > 0 && i < nodes.size(); ++i)
      loads.push(load(i));
    while (ranks > 0) {
      const std::size_t i = loads.top().second;
      loads.pop();
      put(nodes[i], 1);
      loads.push(load(i));
    }
  }

  const Plan& plan_;
  std::vector<std::uint64_t> used_;   // ranks per node
  std::vector<std::uint32_t> nodes_;  // nodes that may get ranks
  RankSet later_;                     // outside the tree, and got ranks
};

std::uint64_t bytes_of(const nla::KeyValues& pairs) {
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : pairs)
    bytes += key.size() + value.size() + 4 * sizeof key;
  return bytes;
}
std::uint64_t bytes_of(const std::vector<std::string>& argv) {
  std::uint64_t bytes = 0;
  for (const std::string& word : argv)
    bytes += word.size() + 3 * sizeof word;
  return bytes;
}

std::uint64_t cost_of(const std::vector<nla::World>& worlds) {
  std::uint64_t cost = 0;
  for (const nla::World& world : worlds) {
    cost += world.map.size() * kRankCost + bytes_of(world.preput);
    for (const nla::App& app : world.apps)
      cost +=
          kProgramCost + bytes_of(app.argv) + bytes_of(app.env) + app.wdir.size() + app.path.size();
  }
  return cost;
}
std::uint64_t cost_of(const nla::SpawnRequest& request) {
  std::uint64_t cost = bytes_of(request.preput);
  for (const nla::SpawnProgram& program : request.programs)
    cost += program.ranks * kRankCost + kProgramCost + bytes_of(program.argv) +
            bytes_of(program.env) + bytes_of(program.infos);
  return cost;
}

void set_variable(std::vector<std::string>& env, const std::string& variable) {
  std::erase_if(env, [&](const std::string& other) {
    return variable_name(other) == variable_name(variable);
  });
  env.push_back(variable);
}

}  // namespace

Result<SpawnPlan> plan_spawn(const Plan& plan, const RankSet& failed, Rank parent,
                             const nla::SpawnRequest& request) {
  const nla::Job& job = plan.job;
  if (plan.once_per_host) {
    return refused(
        "a command that runs once on each host cannot have more ranks; give their number with -n");
  }
  if (job.worlds.size() >= kMaxWorlds) {
    return refused(cat("the ranks of this job have spawned ", kMaxWorlds, " times, which is all"));
  }
  const std::uint64_t each = job.pmi == nla::PmiKind::pmix ? kNamespaceCost : 0;
  const std::uint64_t cost = cost_of(job.worlds) + cost_of(request);
  if (cost + (job.worlds.size() + 1) * each > kMaxSpawnCost) {
    return refused(cat("the ranks of this job have spawned so much that its agents would need ",
                       kMaxSpawnCost >> 20, " MiB for it"));
  }
  nla::World world;
  world.first = job.map.size();
  world.parent = parent;
  world.preput = request.preput;
  world.stops = request.stops;
  Placement placement(plan, failed);
  std::uint64_t total = world.first;
  for (const nla::SpawnProgram& program : request.programs) {
    total += program.ranks;
    if (program.ranks == 0 || total > kMaxRanks) {
      return refused(cat("the job would have ", total, " ranks, at most ", kMaxRanks,
                         " are possible, and a program has one at least"));
    }
    nla::App app;
    app.argv = program.argv;
    app.env = job.apps[job.app_of(parent)].env;
    for (const std::string& variable : program.env)
      set_variable(app.env, variable);
    std::string hosts;
    for (const auto& [key, value] : program.infos) {
      if (key == "host" || key == "hosts") hosts = value;
      if (key == "wdir") app.wdir = value;
      if (key == "path") app.path = value;
    }
    if (!app.wdir.empty() && app.wdir.front() != '/') app.wdir = cat(job.wdir, "/", app.wdir);
    app.ranks = RankSet::run(world.first + world.map.size(), program.ranks);
    if (auto placed = placement.place(program.ranks, hosts, world.map); !placed) {
      return fail(placed.error());
    }
    world.apps.push_back(std::move(app));
  }
  if (world.apps.empty()) return refused("no program was named");
  // The nodes that joined the tree since the agents last got a host list.
  if (job.pmi == nla::PmiKind::pmix) {
    const std::size_t known = job.hosts.size();
    world.first_host = static_cast<std::uint32_t>(known);
    world.hosts.assign(plan.hosts.begin() + static_cast<std::ptrdiff_t>(known), plan.hosts.end());
  }
  return SpawnPlan{std::move(world), placement.later()};
}

std::string spawn_text(const Plan& plan, Rank asker, const nla::World& world) {
  std::string text = cat("rank ", asker, " (", plan.program_of(asker), ") spawns ",
                         counted(world.map.size(), "rank"), " from ", world.first, " on");
  for (const nla::App& app : world.apps) {
    std::vector<std::string> hosts;
    Rank rank = world.first;
    for (const RankMap::Block& block : world.map.blocks()) {
      for (std::uint32_t i = 0; i < block.nodes; ++i, rank += block.ranks_per_node) {
        if (app.ranks.intersects(RankSet::run(rank, block.ranks_per_node))) {
          hosts.push_back(plan.hosts[block.first_node + i]);
        }
      }
    }
    text += cat(&app == &world.apps.front() ? ": " : ", ", app.ranks.size(), " of ",
                app.argv.front(), " on ", folded(hosts));
  }
  return text;
}

}  // namespace scela
