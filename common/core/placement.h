// The place on its node where each rank runs: from a topology and a policy to a set of processors
// for each rank. The launcher and the agents use it.
//
// These rules stand in docs/design/placement.md and scela-run(1) too:
//  - A rank needs a number of cores that no other rank has. If it is bound to threads, it needs
//    threads instead.
//  - Ranks take them from the objects that map_by names, one object after the other in turn. From
//    each object a rank takes the first ones that are free. By slot and node, ranks take them in
//    the machine's order.
//  - A rank is bound to what bind_to names: the cores that it took, or all of the L3 cache, NUMA
//    domain or socket that they lie in. It is bound only to processors that may be used.
//  - order says which of a node's ranks, by number, takes which of these places.
//  - More ranks than fit are refused, or, with overload, start again from the beginning.
//
// This part is pure: it computes values only. launcher/core/map/mapping.h decides before which rank
// runs on which node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/core/topology.h"

namespace scela {

// MapBy names the objects from which ranks take cores in turn; slot and node mean the whole node.
// BindTo names what a rank is bound to; with none it may run anywhere.
enum class MapBy : std::uint8_t { slot, node, core, l3, numa, socket };
enum class BindTo : std::uint8_t { none, hwthread, core, l3, numa, socket };
// How a node's ranks are numbered over its places. made: as the places were made. fill: one object
// of map_by after the other. The rest: in turn over the objects of a kind.
enum class PlaceOrder : std::uint8_t { made, fill, core, l3, numa, socket };

std::string_view name_of(MapBy map_by);
std::string_view name_of(BindTo bind_to);

inline constexpr std::uint32_t kMaxCpusPerRank = 65536;

struct PlacementPolicy {
  MapBy map_by = MapBy::slot;
  BindTo bind_to = BindTo::none;
  PlaceOrder order = PlaceOrder::made;
  std::uint32_t cpus_per_rank = 1;  // at least 1
  bool overload = false;            // ranks may share what they are bound to
  bool report = false;              // report the processors of each rank
  // Returns true if the node's objects count as its slots when the user states no slots.
  bool counts_objects() const { return map_by > MapBy::node || cpus_per_rank > 1; }
  friend bool operator==(const PlacementPolicy&, const PlacementPolicy&) = default;
};

// The cores that the user has chosen for a rank.
struct CoreChoice {
  // The socket to which the cores belong; kNoObject: the numbers are the node's.
  std::uint32_t socket = kNoObject;
  RankSet cores;  // numbers there; empty: all of the socket
  friend bool operator==(const CoreChoice&, const CoreChoice&) = default;
};
// Returns all threads of those cores that may be used. Error: one of the cores does not exist, or
// may not be used.
Result<CpuSet> cpus_of(const Topology& topology, const CoreChoice& choice);

// Returns how many ranks a node holds if each has cores of its own. Error: the node has no such
// objects.
Result<std::uint32_t> room_of(const Topology& topology, const PlacementPolicy& placement);

// Returns how many cores the largest object of map_by has, or threads if ranks are bound to those.
// No rank can have more. Error: the node has no such objects.
Result<std::uint32_t> max_for_a_rank(const Topology& topology, const PlacementPolicy& placement);

// Hands out the places of one node, and remembers which of them are taken.
class Placer {
 public:
  // Error: the node has no such objects to map by or bind to.
  static Result<Placer> create(Topology topology, const PlacementPolicy& placement);

  // Returns the processors of each of the next `count` ranks, in the order of their numbers. Error:
  // the ranks do not fit. If `overload` is true, the ranks may share, whatever the policy says.
  Result<std::vector<CpuSet>> next(std::uint64_t count, bool overload = false);

  // Marks these processors as taken. No other rank gets a unit that has any of them, unless ranks
  // may share.
  void reserve(const CpuSet& cpus);

  const Topology& topology() const { return topology_; }

 private:
  struct Unit {         // a core or a hardware thread
    std::size_t first;  // its processors, within topology_'s
    std::size_t count;
    bool taken = false;
    bool reserved = false;
  };
  using Units = std::vector<std::size_t>;  // positions in units_

  // Requires that the node has the objects: create() checks it.
  Placer(Topology topology, const PlacementPolicy& placement);
  // Takes cpus_per_rank free units of the next group that has so many. Returns std::nullopt if no
  // group has.
  std::optional<Units> take();
  // Returns the processors to which a rank with these units is bound.
  CpuSet cpus_of(const Units& units) const;
  // Returns the first processor of the first unit.
  const Processor& processor_of(const Units& units) const;
  // Sorts the places by PlacementPolicy::order.
  void reorder(std::vector<Units>& places) const;
  // Returns the number of units in the largest group.
  std::size_t largest_group() const;
  // Returns how many ranks fit beside the reserved units, without sharing.
  std::uint64_t room() const;
  // Returns the error that `count` ranks do not fit.
  Error error_of(std::uint64_t count) const;
  // Returns the kind of a unit: hwthread or core.
  Level unit_level() const;

  friend Result<std::uint32_t> room_of(const Topology& topology, const PlacementPolicy& placement);
  friend Result<std::uint32_t> max_for_a_rank(const Topology& topology,
                                              const PlacementPolicy& placement);

  Topology topology_;
  PlacementPolicy placement_;
  std::vector<Unit> units_;
  std::vector<Units> groups_;  // the objects of map_by
  std::size_t turn_ = 0;       // the next group
  std::uint64_t given_ = 0;    // ranks that have places
};

// Returns "rank 3 is bound to socket 0[core 1[hwt 0-1]], cpus 2-3, mask 0xc".
std::string binding_text(std::uint32_t rank, const Topology& topology, const CpuSet& cpus);
// Returns such a text for a rank that is not bound.
std::string unbound_text(std::uint32_t rank, const Topology& topology);

}  // namespace scela
