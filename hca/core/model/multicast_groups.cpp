#include "hca/core/model/multicast_groups.h"

#include <cstring>
#include <iterator>

namespace scela::hca {

MulticastGroups::Key MulticastGroups::key_of(const Gid& group) {
  Key key;
  std::memcpy(&key.first, group.bytes, 8);
  std::memcpy(&key.second, group.bytes + 8, 8);
  return key;
}

bool MulticastGroups::join(const Gid& group, std::uint32_t qpn) {
  const Key key = key_of(group);
  if (!groups_.contains(key) && groups_.size() >= limit::kMcastGroups) return false;
  groups_[key].insert(qpn);
  return true;
}

bool MulticastGroups::leave(const Gid& group, std::uint32_t qpn) {
  const auto found = groups_.find(key_of(group));
  if (found == groups_.end() || found->second.erase(qpn) == 0) return false;
  if (found->second.empty()) groups_.erase(found);
  return true;
}

void MulticastGroups::leave_all(std::uint32_t qpn) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    group->second.erase(qpn);
    group = group->second.empty() ? groups_.erase(group) : std::next(group);
  }
}

std::set<std::uint32_t> MulticastGroups::members(const Gid& group) const {
  const auto found = groups_.find(key_of(group));
  return found == groups_.end() ? std::set<std::uint32_t>() : found->second;
}

}  // namespace scela::hca
