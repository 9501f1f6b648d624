#include "pmi/server/segment_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::pmi::segment {

namespace {

constexpr std::uint64_t kFirstCapacity = 64;
constexpr std::uint64_t kTolerableGarbage = std::uint64_t{1} << 20;

// A reader that sees this store also sees all stores before it.
void store(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

std::uint64_t record_bytes(std::uint64_t key, std::uint64_t value) {
  return 8 + padded(key) + padded(value);
}

}  // namespace

Writer::Writer(void* base, std::uint64_t bytes, std::uint64_t job_ranks, Pairs pairs)
    : words_(static_cast<std::uint64_t*>(base)),
      bytes_(bytes & ~std::uint64_t{7}),
      pairs_(std::move(pairs)) {
  first_ = free_ = kHeaderBytes + (job_ranks + 63) / 64 * 8;
  store(words_ + total_bytes, bytes_);
  store(words_ + ranks, job_ranks);
  store(words_ + dead_at, kHeaderBytes);
  grow_table(kFirstCapacity);
  pairs_([this](std::string_view key, std::string_view value) { set(key, value); });
  store(words_ + magic, kMagic);
}

// Returns the offset of so many bytes, or 0 if there is no room.
std::uint64_t Writer::allocate(std::uint64_t bytes) {
  if (bytes > bytes_ - free_ || free_ / 8 > UINT32_MAX - 1) return 0;
  return std::exchange(free_, free_ + bytes);
}

void Writer::store_text(std::uint64_t at, std::string_view text) {
  for (std::uint64_t i = 0; i < text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<std::size_t>(8, text.size() - i));
    store(words_ + (at + i) / 8, word);
  }
}

bool Writer::key_is(std::uint64_t record, std::string_view key) const {
  return words_[record / 8] >> 32 == key.size() &&
         (key.empty() || std::memcmp(words_ + record / 8 + 1, key.data(), key.size()) == 0);
}

// Returns the key's slot, or the empty slot at the end of its probe sequence.
std::uint64_t* Writer::slot_of(std::string_view key, std::uint64_t hash) {
  std::uint64_t* const slots = words_ + table_ / 8 + 1;
  for (std::uint64_t at = hash & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
    const std::uint64_t slot = slots[at];
    if (slot == 0) return slots + at;
    if (slot == kTombstone || slot >> 32 != hash >> 32) continue;
    if (key_is((slot & UINT32_MAX) * 8, key)) return slots + at;
  }
}

std::string_view Writer::key_of(std::uint64_t hash) const {
  const std::uint64_t* const slots = words_ + table_ / 8 + 1;
  for (std::uint64_t at = hash & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
    const std::uint64_t slot = slots[at];
    if (slot == 0) return {};
    if (slot == kTombstone || slot >> 32 != hash >> 32) continue;
    const std::uint64_t record = slot & UINT32_MAX;
    const std::string_view key(reinterpret_cast<const char*>(words_ + record + 1),
                               words_[record] >> 32);
    if (hash_of(key) == hash) return key;
  }
}

void Writer::set(std::string_view key, std::string_view value) {
  // The writer rebuilds before the room is used up, so that the segment of a cache that evicts
  // stays small.
  const std::uint64_t garbage = garbage_bytes();
  if (garbage > kTolerableGarbage && garbage > (free_ - first_) / 2) rebuild();
  if (place(key, value)) return;
  // A rebuild must free a good part of the room, or the next pair would need a rebuild again.
  if (garbage_bytes() > (free_ - first_) / 4) {
    rebuild();
    if (place(key, value)) return;
  }
  erase(key);
}

// Returns the bytes of replaced or erased pairs and of former tables.
std::uint64_t Writer::garbage_bytes() const {
  return free_ - first_ - live_bytes_ - 8 * (1 + capacity_);
}

bool Writer::place(std::string_view key, std::string_view value) {
  if ((used_slots_ + 1) * 4 > capacity_ * 3 && !grow_table(capacity_ * 2)) return false;
  const std::uint64_t bytes = record_bytes(key.size(), value.size());
  if (key.size() > UINT32_MAX || value.size() > UINT32_MAX) return false;
  const std::uint64_t hash = hash_of(key);
  std::uint64_t* const slot = slot_of(key, hash);
  const std::uint64_t record = allocate(bytes);
  if (record == 0) return false;
  store(words_ + record / 8, std::uint64_t{key.size()} << 32 | value.size());
  store_text(record + 8, key);
  store_text(record + 8 + padded(key.size()), value);
  if (*slot == 0) {
    ++used_slots_;
  } else {
    const std::uint64_t old = words_[(*slot & UINT32_MAX)];
    live_bytes_ -= record_bytes(old >> 32, old & UINT32_MAX);
  }
  live_bytes_ += bytes;
  store(slot, (hash >> 32) << 32 | record / 8);
  return true;
}

void Writer::erase(std::string_view key) {
  std::uint64_t* const slot = slot_of(key, hash_of(key));
  if (*slot == 0) return;
  const std::uint64_t old = words_[(*slot & UINT32_MAX)];
  live_bytes_ -= record_bytes(old >> 32, old & UINT32_MAX);
  store(slot, kTombstone);
}

// Makes a table of this capacity beside the present one, with the same pairs. Returns false if
// there is no room.
bool Writer::grow_table(std::uint64_t capacity) {
  const std::uint64_t table = allocate(8 * (1 + capacity));
  if (table == 0) return false;
  std::uint64_t* const slots = words_ + table / 8 + 1;
  for (std::uint64_t i = 0; i < capacity; ++i)
    store(slots + i, 0);  // after a rebuild this is used memory
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < capacity_; ++i) {
    const std::uint64_t slot = words_[table_ / 8 + 1 + i];
    if (slot == 0 || slot == kTombstone) continue;
    const std::uint64_t record = (slot & UINT32_MAX) * 8;
    const auto* const key = reinterpret_cast<const char*>(words_ + record / 8 + 1);
    std::uint64_t at = hash_of({key, words_[record / 8] >> 32}) & (capacity - 1);
    while (slots[at] != 0)
      at = (at + 1) & (capacity - 1);
    store(slots + at, slot);
    ++used;
  }
  store(words_ + table / 8, capacity);
  table_ = table;
  capacity_ = capacity;
  used_slots_ = used;
  store(words_ + table_at, table);
  return true;
}

void Writer::rebuild() {
  std::uint64_t pairs = 0;
  pairs_([&](std::string_view, std::string_view) { ++pairs; });
  std::uint64_t capacity = kFirstCapacity;
  while ((pairs + 1) * 4 > capacity * 3)
    capacity *= 2;
  store(words_ + sequence, words_[sequence] + 1);
  free_ = first_;
  capacity_ = 0;
  live_bytes_ = 0;
  if (!grow_table(capacity)) grow_table(kFirstCapacity);
  pairs_([this](std::string_view key, std::string_view value) {
    if (!place(key, value)) erase(key);
  });
  store(words_ + sequence, words_[sequence] + 1);
}

void Writer::mark_dead(std::uint64_t rank) {
  if (rank >= words_[ranks]) return;
  std::uint64_t* const word = words_ + (kHeaderBytes / 8) + rank / 64;
  const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
  if ((*word & bit) != 0) return;
  store(word, *word | bit);
  store(words_ + dead_generation, words_[dead_generation] + 1);
}

}  // namespace scela::pmi::segment
