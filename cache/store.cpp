#include "cache/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::cache {

namespace {

// The first block holds the pairs of one small node. Blocks double from there up to the size from
// which malloc maps each one separately, so that closing holes gives memory back.
constexpr std::size_t kFirstBlock = 1024;
constexpr std::size_t kLargestBlock = std::size_t{128} * 1024;
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

// Returns the key's slot, or the empty slot where it belongs. Requires an index with an empty slot.
const Store::EntryId* Store::slot_of(std::string_view key, std::uint32_t hash) const {
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const EntryId id = index_[at];
    if (id == 0) return &index_[at];
    const Entry& entry = entries_[id - 1];
    if (entry.hash == hash && entry.key() == key) return &index_[at];
  }
}

Store::EntryId* Store::slot_of(std::string_view key, std::uint32_t hash) {
  return index_.data() + (std::as_const(*this).slot_of(key, hash) - index_.data());
}

const Store::Entry* Store::entry_of(std::string_view key) const {
  if (index_.empty()) return nullptr;
  const EntryId at = *slot_of(key, hash_of(key));
  return at == 0 ? nullptr : &entries_[at - 1];
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
  if (index_.empty()) return std::nullopt;
  const EntryId at = *slot_of(key, hash_of(key));
  if (at == 0) return std::nullopt;
  const EntryId id = at - 1;
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

// A put is newer than a value that has come here from any node. It is as new as a value that is
// staged.
Stamp Store::stamp_now(const Entry& entry) const {
  const bool own = entry.life == Life::staged || entry.stamp == 0 || entry.stamp == UINT32_MAX;
  return std::max(clock_, entry.stamp + (own ? 0 : 1));
}

Store::EntryId Store::put(std::string_view key, std::string_view value, std::optional<Stamp> came) {
  if ((entries_.size() + 1) * 4 > index_.size() * 3) grow_index();
  differs_ = false;
  const std::uint32_t hash = hash_of(key);
  const EntryId at = *slot_of(key, hash);
  if (at == 0) {
    const EntryId id = add(key, value, hash);
    entries_[id].stamp = came.value_or(clock_);
    return id;
  }
  const EntryId id = at - 1;
  Entry& entry = entries_[id];
  if (came && entry.life == Life::staged) return id;
  differs_ = entry.value() != value;
  if (came && *came < entry.stamp) return id;
  entry.stamp = came ? *came : stamp_now(entry);
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
  entry.at = allocate(key.size() + value.size());
  entry.key_size = static_cast<std::uint32_t>(key.size());
  entry.value_size = entry.room = static_cast<std::uint32_t>(value.size());
  entry.hash = hash;
  copy(entry.at, key);
  copy(entry.at + key.size(), value);
  live_bytes_ += key.size() + value.size();
  *slot_of(key, hash) = id + 1;
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
  // Linear probing without gaps: an entry that could have stood in the freed slot moves there.
  const std::size_t mask = index_.size() - 1;
  auto hole = static_cast<std::size_t>(slot_of(entry.key(), entry.hash) - index_.data());
  for (std::size_t at = (hole + 1) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const std::size_t home = entries_[index_[at] - 1].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = 0;
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
    char* const place = allocate(entry.key_size + value.size());
    copy(place, entry.key());
    entry.at = place;
    entry.room = static_cast<std::uint32_t>(value.size());
  }
  entry.value_size = static_cast<std::uint32_t>(value.size());
  copy(entry.at + entry.key_size, value);
  close_holes();
}

void Store::close_holes() {
  const std::uint64_t holes = used_bytes_ - live_bytes_;
  if (holes > kTolerableHoles && holes > live_bytes_) compact();
}

char* Store::allocate(std::size_t bytes) {
  if (bytes > free_bytes_) {
    next_block_ = std::clamp(next_block_ * 2, kFirstBlock, kLargestBlock);
    const std::size_t size = std::max(next_block_, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get();
    free_bytes_ = size;
    held_bytes_ += size;
  }
  char* const out = free_;
  free_ += bytes;
  free_bytes_ -= bytes;
  used_bytes_ += bytes;
  return out;
}

void Store::grow_index() {
  index_.assign(index_.empty() ? 16 : index_.size() * 2, 0);
  const std::size_t mask = index_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].life == Life::evicted) continue;
    std::size_t at = entries_[i].hash & mask;
    while (index_[at] != 0)
      at = (at + 1) & mask;
    index_[at] = static_cast<EntryId>(i + 1);
  }
}

void Store::compact() {
  const auto old = std::move(blocks_);
  blocks_.clear();
  free_bytes_ = 0;
  used_bytes_ = 0;
  held_bytes_ = 0;
  for (Entry& entry : entries_) {
    if (entry.life == Life::evicted) continue;
    char* const place = allocate(entry.key_size + std::size_t{entry.value_size});
    copy(place, {entry.at, entry.key_size + std::size_t{entry.value_size}});
    entry.at = place;
    entry.room = entry.value_size;
  }
}

}  // namespace scela::cache
