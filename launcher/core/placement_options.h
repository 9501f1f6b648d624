// The options about where ranks run, as the user writes them, and the placement they make together.
//
// Values only. Errors carry `why` and `hint`, as those of option_values.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/placement.h"
#include "common/core/result.h"

namespace scela {

enum class RankBy : std::uint8_t { slot, node, fill, core, l3, numa, socket };

std::string_view name_of(RankBy rank_by);

// What was said; absent: not.
struct PlacementOptions {
  std::optional<MapBy> map_by;
  std::optional<RankBy> rank_by;
  std::optional<BindTo> bind_to;
  std::optional<std::uint32_t> cpus_per_rank;
  bool report = false;
  friend bool operator==(const PlacementOptions&, const PlacementOptions&) = default;
};

// "numa", "numa:pe=2", "pe=2"; Open MPI's names for the same things are understood.
Result<void> parse_map_by(std::string_view text, PlacementOptions& out);
Result<void> parse_rank_by(std::string_view text, PlacementOptions& out);
Result<void> parse_bind_to(std::string_view text, PlacementOptions& out);
Result<void> parse_cpus_per_rank(std::string_view text, PlacementOptions& out);

// With the defaults: ranks are bound to what they are mapped by if that is within a node, to cores
// if it is said how many they need, else not.
PlacementPolicy placement_of(const PlacementOptions& said, bool oversubscribe);

// No host has what one rank needs.
// `largest`: the host that has most, in one object of those that ranks are mapped by, if it is
// known how many cores or threads that are.
struct LargestHost {
  std::string name;
  std::uint32_t units = 0;
  bool shares_machine = false;  // with other simulated nodes
};
Error no_room_error(const PlacementPolicy& placement, const std::optional<LargestHost>& largest);

}  // namespace scela
