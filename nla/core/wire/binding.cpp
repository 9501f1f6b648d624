#include "nla/core/wire/binding.h"

#include <utility>

#include "common/core/text.h"

namespace scela::nla {

Result<void> Binding::place_by_policy(const PlacementPolicy& policy, const RankSet& ranks,
                                      bool later, Places& places) {
  if (policy.bind_to == BindTo::none || ranks.empty()) return {};
  if (!placer_) {
    auto placer = Placer::create(topology_, policy);
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

Result<Binding::Places> Binding::place(const Job& job, const RankSet& ranks, bool later) {
  Places places;
  RankSet chosen;
  for (const auto& [rank, choice] : job.chosen_cores) {
    if (!ranks.contains(rank)) continue;
    auto cpus = cpus_of(topology_, choice);
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
  return places;
}

Result<Binding::Memory> Binding::memory(const Job& job, const RankSet& ranks, const Places& places,
                                        const std::vector<MemoryDomain>& machine) const {
  Memory out;
  if (job.placement.memory == MemoryBinding::none) return out;
  std::optional<Error> error;
  ranks.for_each([&](Rank rank) {
    const auto at = places.find(rank);
    auto domains = nearest_domains(machine, at == places.end() ? topology_.cpus() : at->second);
    if (domains)
      out.emplace(rank, std::move(*domains));
    else
      error = domains.error();
  });
  if (error) return fail(*std::move(error));
  return out;
}

std::vector<std::string> Binding::report(const RankSet& ranks, const Places& places) const {
  std::vector<std::string> lines;
  ranks.for_each([&](Rank rank) {
    const auto at = places.find(rank);
    lines.push_back(at == places.end() ? unbound_text(rank, topology_)
                                       : binding_text(rank, topology_, at->second));
  });
  return lines;
}

}  // namespace scela::nla
