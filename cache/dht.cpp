#include "cache/dht.h"

#include <algorithm>

namespace scela::cache {

Rank owner_of(std::string_view key, Rank ranks) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return static_cast<Rank>((hash ^ (hash >> 31)) % ranks);
}

std::optional<Rank> Dht::owner(std::string_view key) const {
  return owner_of(key, std::max<Rank>(ranks_, 1));
}

bool Dht::owns(std::string_view key) const {
  return own_.contains(*owner(key));
}

bool Dht::put(std::string_view key, std::string_view value) {
  if (!owns(key)) {
    store_.stage(key, value);
    return false;
  }
  // The bytes of the pair count as though it had to travel: otherwise a rank could put without end.
  const Usage before = usage();
  store_.keep(key, value, std::max(store_.clock(), store_.stamp_of(key)));
  const Usage after = usage();
  if (after.pairs > before.pairs) store_.charge(Store::kPairOverhead);
  if (after.bytes > before.bytes) store_.charge(after.bytes - before.bytes);
  return false;  // it travels with the fence
}

void Dht::fence_done(std::uint64_t taken) {
  store_.drop_charge();
  group_fence_done(taken);
}

// The pairs that the fence took are with their owners too, even if only a group took part.
void Dht::group_fence_done(std::uint64_t taken) {
  store_.settle(taken);
  store_.evict_settled_to(0);
}

void Dht::pair_passes(std::string_view key, std::string_view value, Stamp stamp) {
  if (owns(key)) {
    store_.keep(key, value, stamp);
  } else {
    store_.forget(key);
  }
}

// A pair that is still on its way from here is this node's own value: no other agent may copy it.
Lookup Dht::get(std::string_view key, bool below) {
  if (below && store_.is_pending(key)) return {Found::elsewhere, {}};
  if (const auto value = store_.use(key)) return {Found::here, *value};
  return {owns(key) ? Found::absent : Found::elsewhere, {}};
}

void Dht::answer_passes(std::string_view key, std::string_view value) {
  if (!store_.find(key)) store_.commit(key, value);  // else the pair here is newer
  store_.evict_settled_to(limit_);
}

}  // namespace scela::cache
