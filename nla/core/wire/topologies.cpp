#include "nla/core/wire/topologies.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// Returns the most bytes that an entry takes beside its topology: the set of nodes and the lengths.
std::size_t cost(const RankSet& nodes) {
  return 10 * (nodes.ranges().size() + 1);
}

// Returns true if the list is empty. Otherwise returns true if a line of `settings` begins with
// `asked`, no node occurs twice, and each text has 1 to `most` bytes.
bool is_sound(const TopologyList& list, std::string_view settings, std::string_view asked,
              std::size_t most) {
  if (list.empty()) return true;
  if (cat("\n", settings).find(cat("\n", asked)) == std::string::npos) return false;
  RankSet named;
  return std::ranges::all_of(list, [&](const auto& one) {
    const auto& [bytes, nodes] = one;
    const bool once = !nodes.empty() && !named.intersects(nodes);
    named.add(nodes);
    return once && !bytes.empty() && bytes.size() <= most;
  });
}

}  // namespace

bool are_topologies(const TopologyList& list, std::string_view settings) {
  return is_sound(list, settings, kAskTopologies, kMaxOwnTopology);
}

bool are_rendezvous(const TopologyList& list, std::string_view settings) {
  return is_sound(list, settings, kAskRendezvous, kMaxRendezvous);
}

void Topologies::hello(std::uint32_t child, std::uint32_t node, const std::string& told) {
  const RankSet self = RankSet::single(node);
  if (told_.contains(node)) {
    for (auto& [other, kinds] : kinds_) {
      for (auto& [bytes, nodes] : kinds)
        nodes.remove(self);
      std::erase_if(kinds, [](const auto& kind) { return kind.second.empty(); });
    }
    told_.remove(self);
  }
  if (told.empty()) return;
  kinds_[child][told].add(node);
  told_.add(node);
}

void Topologies::add(std::uint32_t child, const TopologyList& list) {
  for (const auto& [bytes, nodes] : list) {
    const RankSet fresh = nodes.minus(told_);
    if (fresh.empty()) continue;
    kinds_[child][bytes].add(fresh);
    told_.add(fresh);
  }
}

TopologyList Topologies::list() const {
  std::vector<std::pair<std::size_t, const Kinds*>> needs;
  for (const auto& [child, kinds] : kinds_) {
    std::size_t need = 0;
    for (const auto& [bytes, nodes] : kinds)
      need += bytes.size() + cost(nodes);
    needs.emplace_back(need, &kinds);
  }
  // The child that needs least comes first, and the others share what it leaves.
  std::ranges::stable_sort(needs, {}, [](const auto& one) { return one.first; });
  std::map<std::string, RankSet> kept;
  std::size_t left = kMaxTopologyBytes;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    std::size_t share = left / (needs.size() - i);
    for (const auto& [bytes, nodes] : *needs[i].second) {
      const auto at = kept.find(bytes);
      const std::size_t size = cost(nodes) + (at == kept.end() ? bytes.size() : 0);
      if (size > share) continue;
      share -= size;
      left -= size;
      kept[bytes].add(nodes);
    }
  }
  return {kept.begin(), kept.end()};
}

}  // namespace scela::nla
