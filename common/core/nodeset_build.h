// Collects names in any order, and the same name any number of times, into a NodeSet.
// Private to nodeset*.cpp. Holds every row until finish(); the caller watches raw_count().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset.h"
#include "common/core/nodeset_index.h"

namespace scela::nodeset {

// Why a byte cannot stand in a node name, or null. `first`: it is the name's first byte.
const char* refusal_of(char c, bool first);
// Letters, digits and dots, dashes, underscores, which are nearly all bytes of names.
inline bool surely_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '-' && c <= ':') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Builder {
 public:
  // A name in which refusal_of() finds nothing.
  void add_name(std::string_view name);
  // Every name that takes one key from each list, for a pattern with as many index marks as there
  // are lists. No list is empty.
  void add_product(std::string_view pattern, const std::vector<std::vector<IndexKey>>& lists);

  bool empty() const { return groups_.empty(); }
  // Rows held: at least the number of different names.
  std::size_t raw_count() const { return raw_count_; }
  // Drops repeated rows; afterwards raw_count() is exact.
  void compact();
  // The set of all names added; leaves the builder empty.
  NodeSet finish();

 private:
  Group& group_of(std::string_view pattern, std::size_t indices);
  void grow();

  // Groups never move while the table of slots points at them by number.
  std::deque<Group> groups_;
  struct Slot {
    std::uint32_t hash;
    std::uint32_t group;  // number + 1; 0: free
  };
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::size_t last_ = 0;     // group of the name added last: lists come sorted more often than not
  std::size_t raw_count_ = 0;
  std::string pattern_;  // scratch
  std::vector<IndexKey> keys_;
};

}  // namespace scela::nodeset
