// The placement options as the user writes them, and the placement that they give together. The
// option table, launcher/plan/plan.cpp and launcher/plan/host_topologies.cpp use them. All
// functions are pure. Errors have `why` and `hint`, as those of text_values.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/placement.h"
#include "common/core/result.h"

namespace scela {

// Says how ranks are numbered. node: one rank per node in turn. All others go node by node. slot:
// in the order of the places. fill: one object of map_by after the other. The rest: in turn over
// the objects of the node.
enum class RankBy : std::uint8_t { slot, node, fill, core, l3, numa, socket };

std::string_view name_of(RankBy rank_by);

// The options that the user gave. An absent value was not given.
struct PlacementOptions {
  std::optional<MapBy> map_by;
  std::optional<RankBy> rank_by;
  std::optional<BindTo> bind_to;
  std::optional<std::uint32_t> cpus_per_rank;
  bool report = false;
  friend bool operator==(const PlacementOptions&, const PlacementOptions&) = default;
};

// Parses texts such as "numa", "numa:pe=2" and "pe=2". Open MPI's names for the same objects are
// accepted.
Result<void> parse_map_by(std::string_view text, PlacementOptions& out);
Result<void> parse_rank_by(std::string_view text, PlacementOptions& out);
Result<void> parse_bind_to(std::string_view text, PlacementOptions& out);
Result<void> parse_cpus_per_rank(std::string_view text, PlacementOptions& out);

// Returns the placement with the defaults. If the number of cores per rank is given, ranks are
// bound to cores. Otherwise, if they are mapped by an object within a node, they are bound to such
// objects. Else they are not bound.
PlacementPolicy placement_of(const PlacementOptions& said, bool oversubscribe);

// Returns the error that no host has enough units for one rank. `largest` is the host with the most
// units (cores or hardware threads) in one object of the kind that ranks are mapped by. It is
// absent if that is not known.
struct LargestHost {
  std::string name;
  std::uint32_t units = 0;
  bool shares_machine = false;  // with other simulated nodes
};
Error no_room_error(const PlacementPolicy& placement, const std::optional<LargestHost>& largest);

}  // namespace scela
