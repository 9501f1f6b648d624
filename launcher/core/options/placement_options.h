// The placement options as the user writes them, and the placement that they give together. The
// option table, launcher/plan/plan.cpp and launcher/plan/host_topologies.cpp use them. All
// functions are pure. Errors have `why` and `hint`, as those of text_values.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/placement/placement.h"
#include "common/core/result.h"

namespace scela {

// Says how ranks are numbered. node: one rank per node in turn. All others go node by node. slot:
// in the order of the places. fill: one object of map_by after the other. The rest: in turn over
// the objects of the node.
enum class RankBy : std::uint8_t { slot, node, fill, core, l3, numa, socket };

// Returns the word of --rank-by, such as "socket".
std::string_view name_of(RankBy rank_by);

// The options that the user gave. An absent value was not given. common/core/placement/placement.h
// explains the values.
struct PlacementOptions {
  std::optional<MapBy> map_by;
  std::optional<RankBy> rank_by;
  std::optional<BindTo> bind_to;
  std::optional<std::uint32_t> cpus_per_rank;
  std::optional<MemoryBinding> memory;
  bool report = false;  // --report-bindings
  friend bool operator==(const PlacementOptions&, const PlacementOptions&) = default;
};

// These parse the value of --map-by and so on, and store it in `out`. If they return an error,
// `out` may have been changed in part. Words are accepted in any case, and so are Open MPI's names
// for the same objects. The value of --map-by is a text such as "numa", "numa:pe=2" or "pe=2"; pe
// sets cpus_per_rank.
Result<void> parse_map_by(std::string_view text, PlacementOptions& out);
Result<void> parse_rank_by(std::string_view text, PlacementOptions& out);
Result<void> parse_bind_to(std::string_view text, PlacementOptions& out);
Result<void> parse_mem_bind(std::string_view text, PlacementOptions& out);
Result<void> parse_cpus_per_rank(std::string_view text, PlacementOptions& out);

// Returns the placement with the defaults for what the user did not give. If the number of cores
// per rank is given, ranks are bound to cores. Otherwise, if they are mapped by an object within a
// node, they are bound to such objects. Else they are not bound. `oversubscribe` lets ranks share
// what they are bound to.
PlacementPolicy placement_of(const PlacementOptions& said, bool oversubscribe);

// The host with the most units (cores or hardware threads) in one object of the kind that ranks are
// mapped by.
struct LargestHost {
  std::string name;
  std::uint32_t units = 0;
  bool shares_machine = false;  // with other simulated nodes
};
// Returns the error that no host has enough units for one rank. `largest` is absent if the largest
// host is not known.
Error no_room_error(const PlacementPolicy& placement, const std::optional<LargestHost>& largest);

}  // namespace scela
