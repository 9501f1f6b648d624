#include "cache/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::cache {

namespace {

// The first block holds one small node's pairs; blocks double from there up to the size at which
// malloc starts to map them one by one, so that closing holes gives memory back.
constexpr std::size_t kFirstBlock = 1024;
constexpr std::size_t kLargestBlock = std::size_t{128} * 1024;
// Holes below this are not worth moving everything for.
constexpr std::uint64_t kTolerableHoles = std::uint64_t{64} * 1024;

std::uint32_t hash_of(std::string_view key) {
  // Only the order of the index depends on it, and that never shows.
  const std::uint64_t wide = std::hash<std::string_view>{}(key);
  return static_cast<std::uint32_t>(wide ^ (wide >> 32));
}

void copy(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

}  // namespace

// The key's slot, or the empty one where it belongs. Requires an index with an empty slot.
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

std::optional<std::string_view> Store::find(std::string_view key) const {
  if (index_.empty()) return std::nullopt;
  const EntryId id = *slot_of(key, hash_of(key));
  if (id == 0) return std::nullopt;
  return entries_[id - 1].value();
}

void Store::stage(std::string_view key, std::string_view value) {
  Entry& entry = put(key, value, false);
  if (entry.staged) return;
  entry.staged = true;
  staged_.push_back(static_cast<EntryId>(&entry - entries_.data()));
}

void Store::commit(std::string_view key, std::string_view value) {
  put(key, value, true);
}

void Store::commit_all(std::string_view aggregate) {
  for_each_pair(aggregate,
                [this](std::string_view key, std::string_view value) { commit(key, value); });
}

std::string Store::take_stage() {
  std::string out;
  for (const EntryId id : staged_) {
    Entry& entry = entries_[id];
    append_pair(out, entry.key(), entry.value());
    entry.staged = false;
  }
  staged_ = {};  // with its memory: the next stage may be far away
  return out;
}

Store::Entry& Store::put(std::string_view key, std::string_view value, bool keep_staged) {
  if ((entries_.size() + 1) * 4 > index_.size() * 3) grow_index();
  const std::uint32_t hash = hash_of(key);
  EntryId* slot = slot_of(key, hash);
  if (*slot != 0) {
    Entry& entry = entries_[*slot - 1];
    if (!(keep_staged && entry.staged)) write(entry, value);
    return entry;
  }
  Entry entry{};
  entry.at = allocate(key.size() + value.size());
  entry.key_size = static_cast<std::uint32_t>(key.size());
  entry.value_size = entry.room = static_cast<std::uint32_t>(value.size());
  entry.hash = hash;
  copy(entry.at, key);
  copy(entry.at + key.size(), value);
  live_bytes_ += key.size() + value.size();
  entries_.push_back(entry);
  *slot = static_cast<EntryId>(entries_.size());
  return entries_.back();
}

// Replaces an entry's value: in place where it fits, else in a new place.
void Store::write(Entry& entry, std::string_view value) {
  live_bytes_ = live_bytes_ - entry.value_size + value.size();
  if (value.size() > entry.room) {
    char* const place = allocate(entry.key_size + value.size());
    copy(place, entry.key());
    entry.at = place;
    entry.room = static_cast<std::uint32_t>(value.size());
  }
  entry.value_size = static_cast<std::uint32_t>(value.size());
  copy(entry.at + entry.key_size, value);
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
    char* const place = allocate(entry.key_size + std::size_t{entry.value_size});
    copy(place, {entry.at, entry.key_size + std::size_t{entry.value_size}});
    entry.at = place;
    entry.room = entry.value_size;
  }
}

}  // namespace scela::cache
