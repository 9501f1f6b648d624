// How many ranks each node of a subtree has room for, where the job asks: told with Hello, gathered
// with Ready, needed by who maps the ranks. Nodes alike are one entry, so that a cluster of one
// kind of machine is one, however large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"

namespace scela::nla {

// (ranks, numbers of nodes that have room for so many); nodes that do not say are in none.
using RoomList = std::vector<std::pair<std::uint32_t, RankSet>>;
// What fits into a message at 10 bytes each; nodes beyond it count as saying nothing.
inline constexpr std::size_t kMostRoomRanges = 12000;

class Rooms {
 public:
  // `told`: as Hello has it, 1 more than the room; 0 says nothing.
  void hello(std::uint32_t node, std::uint32_t told) {
    if (told > 0) by_room_[told - 1].add(node);
  }
  void add(const RoomList& rooms) {
    for (const auto& [room, nodes] : rooms)
      by_room_[room].add(nodes);
  }
  RoomList list() const {
    RoomList out;
    std::size_t ranges = 0;
    for (const auto& one : by_room_) {
      ranges += one.second.ranges().size() + 1;
      if (ranges <= kMostRoomRanges) out.push_back(one);
    }
    return out;
  }

 private:
  std::map<std::uint32_t, RankSet> by_room_;
};

}  // namespace scela::nla
