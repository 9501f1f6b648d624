#include "common/core/placement/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"

namespace scela {

namespace {

// Returns Level::node if the mapping is not by objects of a node.
Level level_of(MapBy map_by) {
  constexpr Level kLevels[] = {Level::node, Level::node, Level::core,
                               Level::l3,   Level::numa, Level::socket};
  return kLevels[static_cast<std::size_t>(map_by)];
}

Level level_of(BindTo bind_to) {
  constexpr Level kLevels[] = {Level::core, Level::hwthread, Level::core,
                               Level::l3,   Level::numa,     Level::socket};
  return kLevels[static_cast<std::size_t>(bind_to)];
}

// Returns Level::node for `made` and `fill`, which need no objects.
Level level_of(PlaceOrder order) {
  constexpr Level kLevels[] = {Level::node, Level::node, Level::core,
                               Level::l3,   Level::numa, Level::socket};
  return kLevels[static_cast<std::size_t>(order)];
}

Error error(std::string what, std::string why, std::string hint) {
  return Error{ErrorKind::launch, std::move(what), "", std::move(why), std::move(hint)};
}

std::string amount(std::uint64_t count, Level level) {
  return cat(count, ' ', count == 1 ? name_of(level) : plural_of(level));
}

}  // namespace

std::string_view name_of(MapBy map_by) {
  constexpr std::string_view kNames[] = {"slot", "node", "core", "l3", "numa", "socket"};
  return kNames[static_cast<std::size_t>(map_by)];
}

std::string_view name_of(BindTo bind_to) {
  constexpr std::string_view kNames[] = {"none", "hwthread", "core", "l3", "numa", "socket"};
  return kNames[static_cast<std::size_t>(bind_to)];
}

Level Placer::unit_level() const {
  return placement_.bind_to == BindTo::hwthread ? Level::hwthread : Level::core;
}

Placer::Placer(Topology topology, const PlacementPolicy& placement)
    : topology_(std::move(topology)), placement_(placement) {
  const auto& processors = topology_.processors();
  for (std::size_t i = 0; i < processors.size(); ++i) {
    if (!units_.empty() && unit_level() == Level::core &&
        processors[i].core == processors[units_.back().first].core) {
      ++units_.back().count;
    } else {
      units_.push_back({i, 1});
    }
  }
  // If cores are taken in turn, they are taken in order, however many a rank needs.
  Level level = level_of(placement_.map_by);
  if (level == unit_level()) level = Level::node;
  std::map<std::uint32_t, std::size_t> index;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const std::uint32_t object = processors[units_[unit].first].at(level);
    const auto [at, fresh] = index.emplace(object, groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[at->second].push_back(unit);
  }
}

Result<Placer> Placer::create(Topology topology, const PlacementPolicy& placement) {
  if (topology.empty()) {
    return fail(error("bind ranks", "the node does not tell which processors may be used",
                      "give --bind-to none"));
  }
  const std::pair<Level, std::string_view> wanted[] = {{level_of(placement.map_by), "--map-by"},
                                                       {level_of(placement.bind_to), "--bind-to"},
                                                       {level_of(placement.order), "--rank-by"}};
  for (const auto& [level, option] : wanted) {
    if (topology.has(level)) continue;
    return fail(error(cat("place ranks by their ", name_of(level), " (", option, ")"),
                      cat("the node tells of no ", plural_of(level)),
                      "name numa, socket or core instead"));
  }
  return Placer(std::move(topology), placement);
}

// Takes the first free units of the next object that has enough.
std::optional<Placer::Units> Placer::take() {
  for (std::size_t tried = 0; tried < groups_.size(); ++tried) {
    const Units& group = groups_[turn_];
    turn_ = (turn_ + 1) % groups_.size();
    Units out;
    for (const std::size_t unit : group) {
      if (units_[unit].taken) continue;
      out.push_back(unit);
      if (out.size() < placement_.cpus_per_rank) continue;
      for (const std::size_t one : out)
        units_[one].taken = true;
      return out;
    }
  }
  return std::nullopt;
}

Result<std::vector<CpuSet>> Placer::next(std::uint64_t count, bool overload) {
  std::vector<Units> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto units = take();
    if (!units && (overload || placement_.overload)) {
      for (Unit& unit : units_)
        unit.taken = false;
      turn_ = 0;
      units = take();
    }
    if (!units) return fail(error_of(given_ + count));
    places.push_back(std::move(*units));
  }
  given_ += count;
  reorder(places);
  std::vector<CpuSet> out;
  for (const Units& units : places)
    out.push_back(cpus_of(units));
  return out;
}

void Placer::reserve(const CpuSet& cpus) {
  const auto& processors = topology_.processors();
  for (Unit& unit : units_) {
    for (std::size_t i = 0; i < unit.count; ++i)
      unit.reserved = unit.reserved || cpus.contains(processors[unit.first + i].cpu);
    unit.taken = unit.taken || unit.reserved;
  }
}

const Processor& Placer::processor_of(const Units& units) const {
  return topology_.processors()[units_[units.front()].first];
}

CpuSet Placer::cpus_of(const Units& units) const {
  const auto& processors = topology_.processors();
  const Level level = level_of(placement_.bind_to);
  CpuSet out;
  if (level <= Level::core) {
    for (const std::size_t unit : units) {
      for (std::size_t i = 0; i < units_[unit].count; ++i)
        out.add(processors[units_[unit].first + i].cpu);
    }
    return out;
  }
  RankSet objects;
  for (const std::size_t unit : units)
    objects.add(processors[units_[unit].first].at(level));
  for (const Processor& one : processors) {
    if (objects.contains(one.at(level))) out.add(one.cpu);
  }
  return out;
}

void Placer::reorder(std::vector<Units>& places) const {
  if (placement_.order == PlaceOrder::made) return;
  // The places come in the machine's order: one object after the other.
  std::ranges::stable_sort(places,
                           [](const Units& a, const Units& b) { return a.front() < b.front(); });
  if (placement_.order == PlaceOrder::fill) return;
  // The places take one of each object, then the second of each, and so on.
  const Level level = level_of(placement_.order);
  std::map<std::uint32_t, std::size_t> seen;
  std::vector<std::pair<std::size_t, Units>> rounds;
  for (Units& units : places)
    rounds.emplace_back(seen[processor_of(units).at(level)]++, std::move(units));
  std::ranges::stable_sort(rounds, {}, &std::pair<std::size_t, Units>::first);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = std::move(rounds[i].second);
}

std::size_t Placer::largest_group() const {
  std::size_t largest = 0;
  for (const Units& group : groups_)
    largest = std::max(largest, group.size());
  return largest;
}

// Returns how many ranks have a place that no rank was given by name.
std::uint64_t Placer::room() const {
  std::uint64_t room = 0;
  for (const Units& group : groups_) {
    const auto free =
        std::ranges::count_if(group, [&](std::size_t unit) { return !units_[unit].reserved; });
    room += static_cast<std::size_t>(free) / placement_.cpus_per_rank;
  }
  return room;
}

Error Placer::error_of(std::uint64_t count) const {
  const Level level = unit_level();
  const std::uint32_t wanted = placement_.cpus_per_rank;
  const std::size_t largest = largest_group();
  if (largest < wanted) {
    std::string why = cat("the node has ", topology_.text());
    if (groups_.size() > 1)
      why = cat("the largest ", name_of(level_of(placement_.map_by)), " of the node has ", largest,
                ", the node ", topology_.text());
    return error(cat("bind ranks to ", amount(wanted, level), " each"), std::move(why),
                 "give less with --cpus-per-rank, or --bind-to none");
  }
  const std::string each = wanted > 1 ? cat(" with ", amount(wanted, level), " each") : "";
  const auto named = static_cast<std::uint64_t>(std::ranges::count_if(units_, &Unit::reserved));
  const std::string beside =
      named > 0 ? cat(" beside the ", amount(named, level), " that the rankfile names") : "";
  const std::uint64_t room = this->room();
  const std::string enough = room == 0 ? "none of them" : cat(room);
  return error(
      cat("bind ", counted(count, "rank"), " to ", plural_of(level), " of their own", each),
      cat("the node has room for ", enough, beside, ": it has ", topology_.text()),
      "let them share with --oversubscribe, start fewer here, or give --bind-to none");
}

Result<std::uint32_t> ranks_that_fit(const Topology& topology, const PlacementPolicy& placement) {
  auto placer = Placer::create(topology, placement);
  if (!placer) return fail(placer.error());
  return static_cast<std::uint32_t>(placer->room());
}

Result<std::uint32_t> largest_object_units(const Topology& topology,
                                           const PlacementPolicy& placement) {
  auto placer = Placer::create(topology, placement);
  if (!placer) return fail(placer.error());
  return static_cast<std::uint32_t>(placer->largest_group());
}

Result<CpuSet> cpus_of(const Topology& topology, const CoreChoice& choice) {
  const bool in_socket = choice.socket != kNoObject;
  CpuSet cpus;
  RankSet known;
  for (const Processor& one : topology.processors()) {
    if (in_socket && one.socket != choice.socket) continue;
    const std::uint32_t core = in_socket ? one.core_of_socket : one.core;
    known.add(core);
    if (choice.cores.empty() || choice.cores.contains(core)) cpus.add(one.cpu);
  }
  if (!cpus.empty() && known.contains_all(choice.cores)) return cpus;
  const std::string where = in_socket ? cat(" of socket ", choice.socket) : std::string();
  const std::string wanted =
      choice.cores.empty() ? std::string("the cores") : cat("core ", choice.cores.text());
  const std::string there =
      known.empty() ? std::string("none that may be used") : cat("core ", known.text());
  return fail(error(cat("bind to ", wanted, where),
                    cat("the node has ", there, where, "; in all ", topology.text()),
                    "name others in the rankfile"));
}

std::string binding_text(std::uint32_t rank, const Topology& topology, const CpuSet& cpus) {
  return cat("rank ", rank, " is bound to ", topology.place_of(cpus), ", cpus ", cpus.text(),
             ", mask ", mask_text(cpus));
}

std::string unbound_text(std::uint32_t rank, const Topology& topology) {
  return cat("rank ", rank, " is not bound: it may use cpus ", topology.cpus().text());
}

}  // namespace scela
