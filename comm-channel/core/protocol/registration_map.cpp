#include "comm-channel/core/protocol/registration_map.h"

#include <iterator>

namespace scela::channel {

std::optional<RegistrationMap::Id> RegistrationMap::use(const Range& range) {
  auto after = by_begin_.upper_bound(range.begin);
  if (after == by_begin_.begin()) return std::nullopt;
  const Id id = std::prev(after)->second;
  Entry& entry = entries_.at(id);
  if (!entry.range.covers(range)) return std::nullopt;
  if (entry.uses++ == 0) {
    used_.splice(used_.end(), unused_, entry.place);
    unused_bytes_ -= entry.range.bytes();
  }
  return id;
}

RegistrationMap::Id RegistrationMap::add(const Range& range, bool kept) {
  // Registrations that the new one covers are hidden from use(). The new one is hidden if an older
  // one covers it already.
  for (auto at = by_begin_.lower_bound(range.begin); kept && at != by_begin_.end();) {
    const Id other = at->second;
    Entry& entry = entries_.at(other);
    if (!range.covers(entry.range)) break;
    ++at;
    hide(entry);
    if (entry.uses == 0) drop(other);
  }
  auto after = by_begin_.upper_bound(range.begin);
  const bool covered =
      after != by_begin_.begin() && entries_.at(std::prev(after)->second).range.covers(range);
  const Id id = next_++;
  Entry& entry = entries_[id];
  entry.range = range;
  entry.uses = 1;
  entry.place = used_.insert(used_.end(), id);
  entry.found = kept && !covered;
  if (entry.found) by_begin_.emplace(range.begin, id);
  bytes_ += range.bytes();
  return id;
}

void RegistrationMap::release(Id id) {
  Entry& entry = entries_.at(id);
  if (--entry.uses > 0) return;
  unused_.splice(unused_.end(), used_, entry.place);
  unused_bytes_ += entry.range.bytes();
  if (!entry.found) return drop(id);
  while (unused_bytes_ > max_bytes_) {
    const Id oldest = unused_.front();
    hide(entries_.at(oldest));
    drop(oldest);
  }
}

void RegistrationMap::invalidate(const Range& range) {
  auto at = by_begin_.lower_bound(range.end);
  while (at != by_begin_.begin()) {
    at = std::prev(at);
    const Id id = at->second;
    Entry& entry = entries_.at(id);
    if (!entry.range.overlaps(range)) break;  // earlier ones end even before it
    at = by_begin_.erase(at);
    entry.found = false;
    if (entry.uses == 0) drop(id);
  }
}

void RegistrationMap::invalidate_all() {
  invalidate({0, ~std::uint64_t{0}});
}

bool RegistrationMap::overlaps(const Range& range) const {
  const auto at = by_begin_.lower_bound(range.end);
  return at != by_begin_.begin() && entries_.at(std::prev(at)->second).range.overlaps(range);
}

void RegistrationMap::hide(Entry& entry) {
  if (entry.found) by_begin_.erase(entry.range.begin);
  entry.found = false;
}

// Drops a registration that has no uses and that use() does not find.
void RegistrationMap::drop(Id id) {
  const auto at = entries_.find(id);
  unused_.erase(at->second.place);
  unused_bytes_ -= at->second.range.bytes();
  bytes_ -= at->second.range.bytes();
  entries_.erase(at);
  dropped_.push_back(id);
}

}  // namespace scela::channel
