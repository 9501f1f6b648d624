#include "nla/binding.h"

#include <utility>

#include "common/core/text.h"
#include "common/os/topology.h"

namespace scela::nla {

const Topology& Binding::topology() {
  if (!topology_) topology_ = read_topology().share(index_ % shares_, shares_);
  return *topology_;
}

std::uint32_t Binding::room(const PlacementPolicy& placement) {
  return room_of(topology(), placement).value_or(1) + 1;
}

Result<void> Binding::place_by_policy(const PlacementPolicy& policy, const RankSet& ranks,
                                      bool later, Places& places) {
  if (policy.bind_to == BindTo::none || ranks.empty()) return {};
  if (!placer_) {
    auto placer = Placer::create(topology(), policy);
    if (!placer) return fail(placer.error());
    placer_.emplace(std::move(*placer));
    placer_->reserve(chosen_);
  }
  auto made = placer_->next(ranks.size(), later);
  if (!made) return fail(made.error());
  std::size_t index = 0;
  ranks.for_each([&](Rank rank) { places.emplace(rank, std::move((*made)[index++])); });
  return {};
}

Result<Binding::Places> Binding::place(const Job& job, const RankSet& ranks, bool later,
                                       const Tell& tell) {
  Places places;
  RankSet chosen;
  for (const auto& [rank, choice] : job.chosen_cores) {
    if (!ranks.contains(rank)) continue;
    auto cpus = cpus_of(topology(), choice);
    if (!cpus) {
      Error error = cpus.error();
      error.what = cat(error.what, ", as chosen for rank ", rank);
      return fail(std::move(error));
    }
    chosen_.add(*cpus);
    places.emplace(rank, std::move(*cpus));
    chosen.add(rank);
  }
  if (auto done = place_by_policy(job.placement, ranks.minus(chosen), later, places); !done) {
    return fail(done.error());
  }
  if (!job.placement.report) return places;
  if (!later) tell(cat("the node has ", topology().text()));
  ranks.for_each([&](Rank rank) {
    const auto at = places.find(rank);
    tell(at == places.end() ? unbound_text(rank, topology())
                            : binding_text(rank, topology(), at->second));
  });
  return places;
}

}  // namespace scela::nla
