// Finds the entries of a table by the hashes of their keys: open addressing with linear probing.
// Store (store.h) has one and keeps the entries, with keys and hashes, in an array of its own. So
// calls that need a key or a hash are given a function that looks there. One thread at a time uses
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scela::cache {

class KeyIndex {
 public:
  // The position of an entry in its table.
  using EntryId = std::uint32_t;
  static constexpr EntryId kNone = UINT32_MAX;

  // Returns the entry for which `is_it(id)` returns true, or kNone if there is none. `is_it` is
  // called with some entries of this hash and of others, and compares the key.
  template <class IsIt>
  EntryId find(std::uint32_t hash, IsIt is_it) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = hash & mask();; at = next(at)) {
      if (slots_[at] == 0) return kNone;
      if (is_it(slots_[at] - 1)) return slots_[at] - 1;
    }
  }
  // Returns true if the index can hold `entries` entries in all: a quarter of the slots then stays
  // empty. If it is false, the caller calls grow() before it inserts.
  bool has_room(std::size_t entries) const { return entries * 4 <= slots_.size() * 3; }
  // Doubles the slots and empties them. The caller inserts all entries again.
  void grow() { slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, 0); }
  // Adds the entry `id` under the hash of its key. Requires that it is not in the index, and room
  // for it (has_room()).
  void insert(std::uint32_t hash, EntryId id) {
    std::size_t at = hash & mask();
    while (slots_[at] != 0)
      at = next(at);
    slots_[at] = id + 1;
  }
  // Removes the entry `id` under the hash of its key. Requires that it is in the index. The call
  // may ask `hash_of(other)` for the hash of any other entry in the index.
  template <class HashOf>
  void erase(std::uint32_t hash, EntryId id, HashOf hash_of) {
    std::size_t hole = hash & mask();
    while (slots_[hole] != id + 1)
      hole = next(hole);
    // No gap may be left: an entry that could have stood in the freed slot moves there.
    for (std::size_t at = next(hole); slots_[at] != 0; at = next(at)) {
      const std::size_t home = hash_of(slots_[at] - 1) & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = 0;
  }

 private:
  // Returns the number of slots minus one, which selects a slot by a hash.
  std::size_t mask() const { return slots_.size() - 1; }
  // Returns the slot behind `at`; the first one is behind the last.
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

  // The number of slots is a power of two. A slot is 0 if it is empty, else an id plus one.
  std::vector<EntryId> slots_;
};

}  // namespace scela::cache
