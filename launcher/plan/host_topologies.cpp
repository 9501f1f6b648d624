#include "launcher/plan/host_topologies.h"

#include <algorithm>

#include "common/core/text.h"
#include "nla/core/wire/binding.h"

namespace scela {

namespace {

// Maximum number of processors of all kinds of machines together. With a smaller limit, nodes of
// clusters of very many kinds count as not reporting. With a larger limit, hostile agents can take
// more memory, at 28 bytes per processor.
constexpr std::uint64_t kMaxProcessors = std::uint64_t{1} << 20;

bool binds(const nla::Job& job) {
  return job.placement.bind_to != BindTo::none || !job.chosen_cores.empty();
}

// Returns the processors that each node may use. There are few kinds of machines but perhaps many
// nodes, so the kind of each node is looked up once.
class NodeTopologies {
 public:
  explicit NodeTopologies(const Plan& plan) : plan_(plan), machine_of_(plan.hosts.size()) {
    for (const MachineKind& machine : plan.machines) {
      machine.nodes.for_each([&](std::uint32_t node) {
        if (node < machine_of_.size()) machine_of_[node] = &machine;
      });
    }
  }

  // Returns nullptr if the node has not reported. The pointer is valid until the next call.
  const Topology* of(std::uint32_t node) {
    const MachineKind* machine = machine_of_[node];
    if (machine == nullptr || plan_.nodes_on_this_machine <= 1) {
      return machine == nullptr ? nullptr : &machine->topology;
    }
    share_ = machine->topology.share(node, plan_.nodes_on_this_machine);
    return &share_;
  }

 private:
  const Plan& plan_;
  std::vector<const MachineKind*> machine_of_;
  Topology share_;
};

}  // namespace

bool needs_topologies(const Plan& plan, const Options& options) {
  return plan.slots_from_processors || ((options.show_map || options.dry_run) && binds(plan.job));
}

// A few bytes may claim very many processors. Smaller machines therefore come first, so that a
// machine with a huge claim takes no room from others.
void use_topologies(Plan& plan, const nla::TopologyList& told) {
  plan.machines.clear();
  if (!plan.slots_from_processors && !binds(plan.job)) return;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_size;
  for (std::size_t i = 0; i < told.size(); ++i)
    by_size.emplace_back(Topology::claimed(told[i].first), i);
  std::ranges::sort(by_size);
  std::uint64_t room = kMaxProcessors;
  RankSet known;
  for (const auto& [claimed, i] : by_size) {
    if (claimed > room) break;
    room -= claimed;
    const RankSet nodes = told[i].second.minus(known);
    auto topology = nodes.empty() ? Topology() : Topology::parse(told[i].first);
    if (nodes.empty() || !topology) continue;
    known.add(nodes);
    plan.machines.push_back({std::move(*topology), nodes});
  }
  if (!plan.slots_from_processors) return;
  NodeTopologies topologies(plan);
  for (std::uint32_t node = 0; node < plan.hosts.size(); ++node) {
    if (plan.slots[node]) continue;
    // A node that lacks what is asked for gets room for one rank. It can then report the reason
    // when it is asked to start this rank.
    const Topology* topology = topologies.of(node);
    plan.slots[node] =
        topology == nullptr ? 1 : ranks_that_fit(*topology, plan.job.placement).value_or(1);
  }
}

std::optional<LargestHost> largest_host(const Plan& plan, const std::vector<std::uint32_t>& nodes) {
  NodeTopologies topologies(plan);
  std::optional<LargestHost> largest;
  for (const std::uint32_t node : nodes) {
    const Topology* topology = topologies.of(node);
    if (topology == nullptr) continue;
    const std::uint32_t units = largest_object_units(*topology, plan.job.placement).value_or(0);
    if (!largest || units > largest->units) {
      largest = {plan.hosts[node], units, plan.nodes_on_this_machine > 1};
    }
  }
  return largest;
}

std::vector<NodeBindings> bindings_of(const Plan& plan, const RankSet& failed) {
  if (!binds(plan.job)) return {};
  std::vector<RankSet> ranks(plan.hosts.size());
  Rank first = 0;
  for (const RankMap::Block& block : plan.job.map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i, first += block.ranks_per_node)
      ranks[block.first_node + i].add(RankSet::run(first, block.ranks_per_node));
  }
  NodeTopologies topologies(plan);
  std::vector<NodeBindings> out;
  for (std::uint32_t node = 0; node < ranks.size(); ++node) {
    if (ranks[node].empty() || failed.contains(node)) continue;
    NodeBindings& one = out.emplace_back();
    one.node = plan.hosts[node];
    const Topology* topology = topologies.of(node);
    if (topology == nullptr) {
      one.has = "it does not tell which processors it has";
      continue;
    }
    const auto places = nla::Binding(*topology).place(plan.job, ranks[node], false);
    one.has = places ? topology->text() : places.error().text();
    if (!places) {
      one.refused = places.error();
      continue;
    }
    ranks[node].for_each([&](Rank rank) {
      const auto at = places->find(rank);
      one.ranks.emplace_back(rank, at == places->end() ? std::string("not bound")
                                                       : cat(topology->place_of(at->second),
                                                             ", cpus ", at->second.text()));
    });
  }
  return out;
}

}  // namespace scela
