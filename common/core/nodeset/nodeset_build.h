// Collects names in any order, and the same name any number of times, into a NodeSet. Private to
// nodeset*.cpp. A builder holds every row until finish(), so the caller watches raw_count().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/nodeset/nodeset_index.h"

namespace scela::nodeset {

// Returns a text that says why a byte cannot be in a node name, or null if it can. `first` is true
// for the name's first byte.
const char* refusal_of(char c, bool first);
// Returns true for letters, digits, dots, dashes and underscores: nearly all bytes of names.
inline bool surely_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '-' && c <= ':') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Collects the names of one set.
class Builder {
 public:
  // Adds a name in which refusal_of() finds no fault.
  void add_name(std::string_view name);
  // Adds every name that takes one key from each list. The pattern has as many index marks
  // (kIndexMark) as there are lists, and the i-th mark stands for a key of the i-th list. No list
  // is empty.
  void add_product(std::string_view pattern, const std::vector<std::vector<IndexKey>>& lists);

  // Returns true if no name was added.
  bool empty() const { return groups_.empty(); }
  // Returns the number of rows held: at least the number of different names.
  std::size_t raw_count() const { return raw_count_; }
  // Drops repeated rows; afterwards raw_count() is exact.
  void compact();
  // Returns the set of all names that were added, and leaves the builder empty.
  NodeSet finish();

 private:
  // Returns the group of the pattern, and makes it if it is new. `indices` is the number of index
  // marks in the pattern.
  Group& group_of(std::string_view pattern, std::size_t indices);
  // Doubles the number of slots.
  void grow();

  // Groups never move while slots_ refers to them by number.
  std::deque<Group> groups_;
  // An entry of the hash table that finds the group of a pattern.
  struct Slot {
    std::uint32_t hash;
    std::uint32_t group;  // number + 1; 0: free
  };
  // Open addressing; the size is a power of two, and at most half of the slots are used.
  std::vector<Slot> slots_;
  // The group of the name that was added last, because most lists come sorted.
  std::size_t last_ = 0;
  std::size_t raw_count_ = 0;
  std::string pattern_;  // scratch
  std::vector<IndexKey> keys_;
};

}  // namespace scela::nodeset
