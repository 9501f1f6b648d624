#include "launcher/core/map/mapping.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"

namespace scela {
namespace {

using Count = std::uint64_t;
using NodeList = std::vector<std::uint32_t>;

// The position in a list of nodes at which the next program continues.
struct Cursor {
  std::size_t position = 0;
  Count filled = 0;  // ranks already on that node
};

class Mapper {
 public:
  explicit Mapper(const MapRequest& request) : request_(request), used_(request.nodes.size()) {
    states_slots_ = std::ranges::any_of(request.nodes,
                                        [](const MapNode& node) { return node.slots.has_value(); });
    NodeList all(request.nodes.size());
    std::iota(all.begin(), all.end(), 0u);
    for (const MapSegment& segment : request.segments) {
      lists_.push_back(segment.nodes.empty() ? all : segment.nodes);
    }
  }

  Result<Mapping> map() {
    if (request_.nodes.empty()) {
      return fail(error("there are no nodes", "name at least one host with --hosts"));
    }
    // Programs without slots and ppn share the nodes evenly, so their ranks are counted first.
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (is_spread(i)) spread_total_[lists_[i]] += segment(i).np.value_or(nodes_of(i));
    }
    Count total = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const Count room = ranks_that_fit(i);
      const Count ranks = segment(i).np ? Count{*segment(i).np} : default_ranks(i, room);
      if (auto refused = refuse(i, ranks, room)) return fail(std::move(*refused));
      total += ranks;
      if (total > kMaxRanks) {
        return fail(error(cat("the job would have ", counted(total, "rank")),
                          cat("at most ", kMaxRanks, " are possible")));
      }
      mapping_.segments.push_back({mapping_.map.size(), static_cast<Rank>(ranks)});
      place(i, ranks);
      number();
    }
    return std::move(mapping_);
  }

 private:
  const MapSegment& segment(std::size_t i) const { return request_.segments[i]; }
  Count nodes_of(std::size_t i) const { return lists_[i].size(); }
  bool is_spread(std::size_t i) const { return !states_slots_ && !segment(i).ppn; }

  // If some nodes have stated slots, a node without them has one slot.
  Count capacity(std::uint32_t node) const { return request_.nodes[node].slots.value_or(1); }

  // Returns how many ranks of program i fit on a node, if slots are stated.
  Count allowance(std::size_t i, std::uint32_t node) const {
    const std::optional<std::uint32_t> ppn = segment(i).ppn;
    if (ppn && request_.oversubscribe) return *ppn;
    const Count free = capacity(node) > used_[node] ? capacity(node) - used_[node] : 0;
    return ppn ? std::min<Count>(*ppn, free) : free;
  }

  // Returns how many ranks of program i fit in total. Without slots and ppn there is no limit.
  Count ranks_that_fit(std::size_t i) const {
    if (is_spread(i)) return kMaxRanks;
    if (!states_slots_) return nodes_of(i) * *segment(i).ppn;
    Count room = 0;
    for (const std::uint32_t node : lists_[i])
      room += allowance(i, node);
    return room;
  }

  Count default_ranks(std::size_t i, Count room) const { return is_spread(i) ? nodes_of(i) : room; }

  Error error(std::string why, std::string hint) const {
    return Error{ErrorKind::usage, "place the ranks", "", std::move(why), std::move(hint)};
  }

  std::optional<Error> refuse(std::size_t i, Count ranks, Count room) const {
    const std::string who =
        lists_.size() == 1 ? std::string("the program") : cat("program ", i + 1);
    if (segment(i).np == 0u || segment(i).ppn == 0u) {
      return error(cat(who, " would have no ranks"), "give at least 1 with -n and --ppn");
    }
    const auto has_slots = [&](std::uint32_t node) { return capacity(node) > 0; };
    if (states_slots_ && std::ranges::none_of(lists_[i], has_slots)) {
      return error(cat("no host has room for a rank of ", who), "name hosts that have");
    }
    if (ranks == 0) {
      return error(
          cat("no slot is left for ", who),
          request_.counted
              ? "start fewer of the others with -n, name more hosts, or give a number of "
                "ranks with -n and --oversubscribe"
              : "give more slots in the host list (host:N), or a number of ranks with -n and "
                "--oversubscribe");
    }
    if (ranks <= room || request_.oversubscribe) return std::nullopt;
    const std::optional<std::uint32_t> ppn = segment(i).ppn;
    const std::string at_ppn = ppn ? cat(" at ", counted(*ppn, "rank"), " a node (--ppn)") : "";
    if (!states_slots_) {
      return error(cat(who, " has ", counted(ranks, "rank"), ", but ", counted(nodes_of(i), "node"),
                       at_ppn, " hold ", room),
                   "raise --ppn, name more hosts, or allow it with --oversubscribe");
    }
    const std::string slots = counted(room, i == 0 ? "slot" : "free slot");
    if (request_.counted) {
      return error(cat(who, " has ", counted(ranks, "rank"),
                       ", but the processors of its hosts make ", slots, at_ppn),
                   "start fewer with -n, name more hosts, or allow it with --oversubscribe");
    }
    return error(cat(who, " has ", counted(ranks, "rank"), ", but its hosts have ", slots, at_ppn),
                 "give more slots in the host list (host:N), or allow it with --oversubscribe");
  }

  void place(std::size_t i, Count ranks) {
    if (request_.by_node) return place_in_turn(i, ranks);
    if (is_spread(i)) return place_spread(lists_[i], ranks);
    if (!states_slots_) return place_per_node(lists_[i], ranks, *segment(i).ppn);
    place_in_slots(i, ranks);
  }

  void put(std::uint32_t node, Count ranks) {
    if (ranks == 0) return;
    placed_.emplace_back(node, ranks);
    used_[node] += ranks;
  }

  // Appends the ranks of the program that was placed last to the map, in the order of their
  // numbers.
  void number() {
    const auto append = [&](std::uint32_t node, Count ranks) {
      mapping_.map.append(node, static_cast<std::uint32_t>(ranks));
    };
    const auto placed = std::exchange(placed_, {});
    if (request_.numbered == MapRequest::Numbered::as_placed) {
      for (const auto& [node, ranks] : placed)
        append(node, ranks);
      return;
    }
    std::map<std::uint32_t, Count> left;
    for (const auto& [node, ranks] : placed)
      left[node] += ranks;
    while (!left.empty()) {
      for (auto at = left.begin(); at != left.end();) {
        const bool all = request_.numbered == MapRequest::Numbered::node_after_node;
        const Count taken = all ? at->second : 1;
        append(at->first, taken);
        at->second -= taken;
        at = at->second == 0 ? left.erase(at) : std::next(at);
      }
    }
  }

  // Puts one rank on each node with room, repeatedly, from the node where the previous program
  // stopped. If oversubscribed, the rest goes to all nodes in turn.
  void place_in_turn(std::size_t i, Count ranks) {
    const NodeList& list = lists_[i];
    std::size_t& at = turn_cursor_[list];
    std::vector<Count> room;
    for (const std::uint32_t node : list)
      room.push_back(turn_room(i, node));
    Count left = std::accumulate(room.begin(), room.end(), Count{0});
    for (; ranks > 0; at = (at + 1) % list.size()) {
      if (left > 0 && room[at] == 0) continue;
      put(list[at], 1);
      --ranks;
      if (left == 0) continue;
      --room[at];
      --left;
    }
  }

  Count turn_room(std::size_t i, std::uint32_t node) const {
    if (is_spread(i)) return kMaxRanks;
    return states_slots_ ? allowance(i, node) : Count{*segment(i).ppn};
  }

  // Places even blocks over the list. The block size counts every program that shares the list.
  void place_spread(const NodeList& list, Count ranks) {
    const Count total = spread_total_[list];
    Cursor& at = spread_cursor_[list];
    while (ranks > 0) {
      const Count share = total / list.size() + (at.position < total % list.size() ? 1 : 0);
      const Count taken = std::min(ranks, share - at.filled);
      put(list[at.position], taken);
      ranks -= taken;
      at.filled += taken;
      if (at.filled == share) at = {at.position + 1, 0};
    }
  }

  // Places ppn ranks on each node, from where the previous program stopped. It wraps around at the
  // end of the list.
  void place_per_node(const NodeList& list, Count ranks, Count ppn) {
    Cursor& at = ppn_cursor_[list];
    while (ranks > 0) {
      Count taken = std::min(ranks, ppn > at.filled ? ppn - at.filled : 0);
      if (list.size() == 1) taken = ranks;
      put(list[at.position], taken);
      ranks -= taken;
      at.filled += taken;
      if (ranks > 0) at = {(at.position + 1) % list.size(), 0};
    }
  }

  // Fills the free slots in order. If oversubscribed, each node then gets its block of slots again,
  // in turn.
  void place_in_slots(std::size_t i, Count ranks) {
    const NodeList& list = lists_[i];
    for (const std::uint32_t node : list) {
      const Count taken = std::min(ranks, allowance(i, node));
      put(node, taken);
      ranks -= taken;
    }
    while (ranks > 0) {
      for (const std::uint32_t node : list) {
        const Count block = segment(i).ppn ? Count{*segment(i).ppn} : capacity(node);
        const Count taken = list.size() == 1 ? ranks : std::min(ranks, block);
        put(node, taken);
        ranks -= taken;
      }
    }
  }

  const MapRequest& request_;
  bool states_slots_ = false;
  std::vector<Count> used_;      // ranks per node
  std::vector<NodeList> lists_;  // per segment
  std::map<NodeList, Count> spread_total_;
  std::map<NodeList, Cursor> spread_cursor_;
  std::map<NodeList, Cursor> ppn_cursor_;
  std::map<NodeList, std::size_t> turn_cursor_;
  std::vector<std::pair<std::uint32_t, Count>> placed_;  // of one program: node, ranks
  Mapping mapping_;
};

}  // namespace

Result<Mapping> map_ranks(const MapRequest& request) {
  return Mapper(request).map();
}

}  // namespace scela
