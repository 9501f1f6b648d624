#include "cache/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::cache {

namespace {

// Smaller holes are not worth moving all pairs for.
constexpr std::uint64_t kTolerableHoles = std::uint64_t{64} * 1024;

std::uint32_t hash_of(std::string_view key) {
  // Only the order of the index depends on the hash, and that order never shows.
  const std::uint64_t wide = std::hash<std::string_view>{}(key);
  return static_cast<std::uint32_t>(wide ^ (wide >> 32));
}

void copy(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

}  // namespace

Store::EntryId Store::find_id(std::string_view key, std::uint32_t hash) const {
  return index_.find(hash, [&](EntryId id) {
    const Entry& entry = entries_[id];
    return entry.hash == hash && entry.key() == key;
  });
}

const Store::Entry* Store::entry_of(std::string_view key) const {
  const EntryId id = find_id(key, hash_of(key));
  return id == kNone ? nullptr : &entries_[id];
}

std::optional<std::string_view> Store::find(std::string_view key) const {
  const Entry* entry = entry_of(key);
  if (entry == nullptr) return std::nullopt;
  return entry->value();
}

bool Store::is_staged(std::string_view key) const {
  if (staged_ == 0) return false;
  const Entry* entry = entry_of(key);
  return entry != nullptr && entry->life == Life::staged;
}

bool Store::is_pending(std::string_view key) const {
  if (pending_.empty()) return false;
  const Entry* entry = entry_of(key);
  return entry != nullptr && (entry->life == Life::staged || entry->life == Life::travelling);
}

std::optional<std::string_view> Store::use(std::string_view key) {
  const EntryId id = find_id(key, hash_of(key));
  if (id == kNone) return std::nullopt;
  if (entries_[id].life == Life::settled && id != newest_) {
    unlink(id);
    link_newest(id);
  }
  return entries_[id].value();
}

bool Store::stage(std::string_view key, std::string_view value) {
  const EntryId id = put(key, value, std::nullopt);
  const bool replaced = differs_;
  if (entries_[id].life != Life::staged) {
    set_life(id, Life::staged);
    ++staged_;
  }
  entries_[id].held = false;
  return replaced;
}

bool Store::commit(std::string_view key, std::string_view value, Stamp stamp) {
  put(key, value, stamp);
  return differs_;
}

bool Store::hold(std::string_view key, std::string_view value) {
  const EntryId id = put(key, value, std::nullopt);
  const bool replaced = differs_;
  Entry& entry = entries_[id];
  // Such pairs are as old as they come, because links keep their order.
  entry.stamp = 0;
  if (entry.life != Life::staged) {
    if (entry.life == Life::settled) set_life(id, Life::travelling);
    entry.held = true;
    entry.taken = taken_ + 1;
  }
  return replaced;
}

void Store::keep(std::string_view key, std::string_view value, Stamp stamp) {
  const EntryId id = put(key, value, stamp);
  if (entries_[id].life == Life::settled) unlink(id);
  entries_[id].life = Life::kept;
}

void Store::commit_all(std::string_view aggregate) {
  for_each_stamped(aggregate, [this](std::string_view key, std::string_view value, Stamp stamp) {
    commit(key, value, stamp);
  });
}

std::string Store::take_stage() {
  ++taken_;
  std::string out;
  for (const EntryId id : pending_) {
    Entry& entry = entries_[id];
    if (entry.held) continue;
    append_pair(out, entry.key(), entry.value(), entry.stamp);
    if (entry.life != Life::staged) continue;
    set_life(id, Life::travelling);
    entry.taken = taken_;
  }
  staged_ = 0;
  return out;
}

void Store::for_each(const std::function<void(std::string_view, std::string_view)>& each) const {
  for (const Entry& entry : entries_) {
    if (entry.life != Life::evicted) each(entry.key(), entry.value());
  }
}

void Store::settle(std::uint64_t taken) {
  std::vector<EntryId> left;
  for (const EntryId id : pending_) {
    if (entries_[id].life == Life::travelling && entries_[id].taken <= taken) {
      entries_[id].listed = entries_[id].held = false;
      set_life(id, Life::settled);
    } else {
      left.push_back(id);
      Entry& entry = entries_[id];
      if (entry.life == Life::staged && !entry.held) entry.stamp = std::max(entry.stamp, clock_);
    }
  }
  // The old memory of pending_ is freed, because the next stage may be far away.
  pending_ = std::move(left);
}

void Store::set_life(EntryId id, Life life) {
  Entry& entry = entries_[id];
  const std::uint64_t bytes = entry.bytes() + kPairOverhead;
  if (entry.life == Life::settled) {
    unlink(id);
    pending_bytes_ += bytes;
  }
  entry.life = life;
  if (life == Life::settled) {
    link_newest(id);
    pending_bytes_ -= bytes;
  } else if (!entry.listed) {
    entry.listed = true;
    pending_.push_back(id);
  }
}

void Store::link_newest(EntryId id) {
  Entry& entry = entries_[id];
  entry.older = newest_;
  entry.newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = id;
  newest_ = id;
  settled_bytes_ += entry.bytes();
}

void Store::unlink(EntryId id) {
  const Entry& entry = entries_[id];
  settled_bytes_ -= entry.bytes();
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
}

Stamp Store::stamp_of(std::string_view key) const {
  const Entry* entry = entry_of(key);
  return entry == nullptr ? 0 : entry->stamp;
}

Store::EntryId Store::put(std::string_view key, std::string_view value, std::optional<Stamp> came) {
  if (!index_.has_room(entries_.size() + 1)) grow_index();
  differs_ = false;
  const std::uint32_t hash = hash_of(key);
  const EntryId id = find_id(key, hash);
  if (id == kNone) {
    const EntryId added = add(key, value, hash);
    entries_[added].stamp = came.value_or(clock_);
    return added;
  }
  Entry& entry = entries_[id];
  if (came && entry.life == Life::staged) return id;
  differs_ = entry.value() != value;
  if (came && *came < entry.stamp) return id;
  entry.stamp = came ? *came : entry.stamp_of_put(clock_);
  const bool settled = entry.life == Life::settled;
  if (settled) unlink(id);
  if (differs_) {
    write(entry, value);
    if (mirror_ != nullptr) mirror_->set(key, value);
  }
  if (settled) link_newest(id);
  return id;
}

Store::EntryId Store::add(std::string_view key, std::string_view value, std::uint32_t hash) {
  EntryId id = static_cast<EntryId>(entries_.size());
  if (!free_entries_.empty()) {
    id = free_entries_.back();
    free_entries_.pop_back();
  } else {
    entries_.emplace_back();
  }
  Entry& entry = entries_[id];
  entry = Entry{};
  entry.at = blocks_.take(key.size() + value.size());
  entry.key_size = static_cast<std::uint32_t>(key.size());
  entry.value_size = entry.room = static_cast<std::uint32_t>(value.size());
  entry.hash = hash;
  copy(entry.at, key);
  copy(entry.at + key.size(), value);
  live_bytes_ += key.size() + value.size();
  index_.insert(hash, id);
  link_newest(id);
  if (mirror_ != nullptr) mirror_->set(key, value);
  return id;
}

bool Store::evict_to(std::uint64_t bytes) {
  bool some = false;
  while (live_bytes_ > bytes && oldest_ != kNone) {
    evict(oldest_);
    some = true;
  }
  if (some) close_holes();
  return some;
}

void Store::evict_settled_to(std::uint64_t bytes) {
  while (settled_bytes_ > bytes || (bytes == 0 && oldest_ != kNone))
    evict(oldest_);
  close_holes();
}

void Store::forget(std::string_view key) {
  const Entry* entry = entry_of(key);
  if (entry == nullptr || entry->life != Life::settled) return;
  evict(static_cast<EntryId>(entry - entries_.data()));
  close_holes();
}

void Store::evict(EntryId id) {
  Entry& entry = entries_[id];
  unlink(id);
  if (mirror_ != nullptr) mirror_->erase(entry.key());
  index_.erase(entry.hash, id, [this](EntryId other) { return entries_[other].hash; });
  live_bytes_ -= entry.bytes();
  entry = Entry{};
  entry.life = Life::evicted;
  free_entries_.push_back(id);
}

// Replaces an entry's value, in place if it fits, and otherwise in a new place.
void Store::write(Entry& entry, std::string_view value) {
  live_bytes_ = live_bytes_ - entry.value_size + value.size();
  if (entry.life == Life::staged || entry.life == Life::travelling) {
    pending_bytes_ = pending_bytes_ - entry.value_size + value.size();
  }
  if (value.size() > entry.room) {
    char* const place = blocks_.take(entry.key_size + value.size());
    copy(place, entry.key());
    entry.at = place;
    entry.room = static_cast<std::uint32_t>(value.size());
  }
  entry.value_size = static_cast<std::uint32_t>(value.size());
  copy(entry.at + entry.key_size, value);
  close_holes();
}

void Store::close_holes() {
  const std::uint64_t holes = blocks_.taken_bytes() - live_bytes_;
  if (holes > kTolerableHoles && holes > live_bytes_) compact();
}

void Store::grow_index() {
  index_.grow();
  for (EntryId id = 0; id < entries_.size(); ++id)
    if (entries_[id].life != Life::evicted) index_.insert(entries_[id].hash, id);
}

void Store::compact() {
  const ByteBlocks::Blocks old = blocks_.begin_anew();
  for (Entry& entry : entries_) {
    if (entry.life == Life::evicted) continue;
    char* const place = blocks_.take(entry.key_size + std::size_t{entry.value_size});
    copy(place, {entry.at, entry.key_size + std::size_t{entry.value_size}});
    entry.at = place;
    entry.room = entry.value_size;
  }
}

}  // namespace scela::cache
