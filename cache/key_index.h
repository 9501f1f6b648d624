// Finds the entries of a table by the hashes of their keys: open addressing with linear probing.
// Store has one. The keys and hashes stand with the table's entries, so calls that need them are
// given a function that looks there. One thread at a time uses it.
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

  // Returns the entry for which `is_it(id)` returns true, or kNone. `is_it` is called with entries
  // that may have this hash.
  template <class IsIt>
  EntryId find(std::uint32_t hash, IsIt is_it) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = hash & mask();; at = next(at)) {
      if (slots_[at] == 0) return kNone;
      if (is_it(slots_[at] - 1)) return slots_[at] - 1;
    }
  }
  // Returns true if a quarter of the slots stays empty with this number of entries.
  bool has_room(std::size_t entries) const { return entries * 4 <= slots_.size() * 3; }
  // Doubles the slots and empties them. The caller inserts all entries again.
  void grow() { slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, 0); }
  // Requires an entry that is not in the index, and room for it.
  void insert(std::uint32_t hash, EntryId id) {
    std::size_t at = hash & mask();
    while (slots_[at] != 0)
      at = next(at);
    slots_[at] = id + 1;
  }
  // Requires an entry that is in the index. `hash_of(id)` returns the hash of another entry.
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
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

  // The number of slots is a power of two. A slot is 0 if it is empty, else an id plus one.
  std::vector<EntryId> slots_;
};

}  // namespace scela::cache
