#include "common/core/placement/memory_domains.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {
namespace {

Error refused(std::string why) {
  return Error{ErrorKind::launch, "bind the memory of ranks (--mem-bind)", "", std::move(why),
               "give --mem-bind none"};
}

// Adds the domains with memory that are nearest to the one at this position.
void add_nearest(const std::vector<MemoryDomain>& machine, const MemoryDomain& from,
                 DomainSet& out) {
  // If no distance is known, all of them are equally far.
  const auto distance = [&](std::size_t to) {
    return from.distances.size() == machine.size() ? from.distances[to] : 0;
  };
  std::uint32_t least = UINT32_MAX;
  for (std::size_t i = 0; i < machine.size(); ++i) {
    if (machine[i].has_memory) least = std::min(least, distance(i));
  }
  for (std::size_t i = 0; i < machine.size(); ++i) {
    if (machine[i].has_memory && distance(i) == least)
      out.add(DomainSet::single(machine[i].number));
  }
}

}  // namespace

std::string_view name_of(MemoryBinding binding) {
  constexpr std::string_view kNames[] = {"none", "local", "prefer", "interleave"};
  return kNames[static_cast<std::size_t>(binding)];
}

Result<DomainSet> nearest_domains(const std::vector<MemoryDomain>& machine, const CpuSet& cpus) {
  if (machine.empty()) return fail(refused("the node tells of no NUMA domains"));
  if (std::ranges::none_of(machine, &MemoryDomain::has_memory))
    return fail(refused("the node tells of no memory that this job may use"));
  DomainSet out;
  for (const MemoryDomain& domain : machine) {
    if (!domain.cpus.intersects(cpus)) continue;
    if (domain.has_memory)
      out.add(DomainSet::single(domain.number));
    else
      add_nearest(machine, domain, out);
  }
  if (!out.empty()) return out;
  return fail(refused(cat("the node tells of no NUMA domain of the cpus ", cpus.text())));
}

}  // namespace scela
