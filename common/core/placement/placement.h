// Binding of ranks: from a topology and a policy to a set of processors for each rank of a node.
// The launcher uses it to show and to count; the agents use it to bind.
//
// An object is a core, L3 cache, NUMA domain or socket (common/core/placement/topology.h). A unit
// is a core, or a hardware thread if ranks are bound to threads. A place is the units of one rank.
//
// These rules are in docs/design/placement.md and scela-run(1) too:
// - A rank needs a number of cores that no other rank has. If it is bound to threads, it needs
//   threads instead.
// - Ranks take them from the objects that map_by names, one object after the other in turn. From
//   each object a rank takes the first ones that are free. By slot and node, ranks take them in the
//   machine's order.
// - A rank is bound to what bind_to names: the cores that it took, or all of the L3 cache, NUMA
//   domain or socket that they are in. It is bound only to processors that may be used.
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

#include "common/core/placement/memory_domains.h"
#include "common/core/placement/topology.h"
#include "common/core/result.h"

namespace scela {

// Says from which objects ranks take cores in turn; slot and node mean the whole node.
enum class MapBy : std::uint8_t { slot, node, core, l3, numa, socket };
// Says what a rank is bound to: all processors of an object, a core, or a hardware thread. With
// none it may run on any processor.
enum class BindTo : std::uint8_t { none, hwthread, core, l3, numa, socket };
// Says how a node's ranks are numbered over its places. made: in the order in which ranks took
// them. fill: one object of map_by after the other. The rest: in turn over the objects of that
// kind.
enum class PlaceOrder : std::uint8_t { made, fill, core, l3, numa, socket };

// These return the word of the option, such as "socket".
std::string_view name_of(MapBy map_by);
std::string_view name_of(BindTo bind_to);

inline constexpr std::uint32_t kMaxCpusPerRank = 65536;  // the limit of --cpus-per-rank

// How the ranks of a job are bound, as the options say (scela-run(1)).
struct PlacementPolicy {
  MapBy map_by = MapBy::slot;
  BindTo bind_to = BindTo::none;
  PlaceOrder order = PlaceOrder::made;
  std::uint32_t cpus_per_rank = 1;  // units for each rank; at least 1
  bool overload = false;            // ranks may share what they are bound to
  bool report = false;              // report the processors of each rank
  MemoryBinding memory = MemoryBinding::none;
  // Returns true if the node's objects count as its slots when the user states no slots.
  bool counts_objects() const { return map_by > MapBy::node || cpus_per_rank > 1; }
  friend bool operator==(const PlacementPolicy&, const PlacementPolicy&) = default;
};

// The cores that the user has chosen for a rank (in a rankfile).
struct CoreChoice {
  // The socket to which the cores belong, and within which they are numbered. kNoObject: the cores
  // are numbered within the node.
  std::uint32_t socket = kNoObject;
  RankSet cores;  // their numbers; empty: all of the socket
  friend bool operator==(const CoreChoice&, const CoreChoice&) = default;
};
// Returns all threads of those cores that may be used. Error (launch): one of the cores does not
// exist, or may not be used.
Result<CpuSet> cpus_of(const Topology& topology, const CoreChoice& choice);

// Returns how many ranks a node holds if each has cores of its own. Error (launch): the node has no
// objects of the kinds that the policy names.
Result<std::uint32_t> ranks_that_fit(const Topology& topology, const PlacementPolicy& placement);

// Returns how many units the largest object of map_by has. No rank can have more. Error (launch):
// the node has no objects of the kinds that the policy names.
Result<std::uint32_t> largest_object_units(const Topology& topology,
                                           const PlacementPolicy& placement);

// Assigns processors to the ranks of one node, and remembers which units are taken.
class Placer {
 public:
  // Makes a placer of which no unit is taken. Error (launch): the node has no objects of the kinds
  // that the policy names.
  static Result<Placer> create(Topology topology, const PlacementPolicy& placement);

  // Takes places for the next `count` ranks of the node. Returns the processors to which each of
  // them is bound, in the order of their numbers. If `overload` is true, the ranks may share,
  // whatever the policy says. Error (launch): the ranks do not fit.
  Result<std::vector<CpuSet>> next(std::uint64_t count, bool overload = false);

  // Marks these processors as taken, for ranks of which the user chose the cores. No other rank
  // gets a unit that has any of them, unless ranks may share.
  void reserve(const CpuSet& cpus);

  const Topology& topology() const { return topology_; }

 private:
  // A core or a hardware thread: `count` processors from position `first` of topology_'s on.
  struct Unit {
    std::size_t first;
    std::size_t count;
    bool taken = false;     // by a rank
    bool reserved = false;  // by reserve()
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

  friend Result<std::uint32_t> ranks_that_fit(const Topology& topology,
                                              const PlacementPolicy& placement);
  friend Result<std::uint32_t> largest_object_units(const Topology& topology,
                                                    const PlacementPolicy& placement);

  Topology topology_;
  PlacementPolicy placement_;
  std::vector<Unit> units_;
  std::vector<Units> groups_;  // the objects of map_by
  std::size_t turn_ = 0;       // the next group
  std::uint64_t given_ = 0;    // ranks that have places
};

// Returns a line for --report-bindings: "rank 3 is bound to socket 0[core 1[hwt 0-1]], cpus 2-3,
// mask 0xc".
std::string binding_text(std::uint32_t rank, const Topology& topology, const CpuSet& cpus);
// Returns such a line for a rank that is not bound.
std::string unbound_text(std::uint32_t rank, const Topology& topology);

}  // namespace scela
