// The multicast groups of a node: which of its queue pairs receive the datagrams to a group's GID.
//
// Processes join and leave by their requests (hca/core/control/object_control.h); the datagrams of
// this node and of others are sent to the members. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// The groups and their members. A group is a multicast GID, and a member the number of a queue pair
// of this node.
class MulticastGroups {
 public:
  // Makes the queue pair a member; one that is in the group already stays. Returns false if the
  // group is new and there are limit::kMcastGroups groups.
  bool join(const Gid& group, std::uint32_t qpn);
  // Removes the queue pair from the group. Returns false if it is no member.
  bool leave(const Gid& group, std::uint32_t qpn);
  // Removes a queue pair from all groups.
  void leave_all(std::uint32_t qpn);
  // Returns the members of the group, as a copy, because a datagram may end a member.
  std::set<std::uint32_t> members(const Gid& group) const;

 private:
  // The two halves of a GID.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static Key key_of(const Gid& group);

  std::map<Key, std::set<std::uint32_t>> groups_;  // none is empty
};

}  // namespace scela::hca
