// The interface of an object that keeps a copy of a table of pairs elsewhere, such as the memory
// that an agent shares with its ranks (nla/ranks/node_segment.h). The table (store.h) calls it for
// every pair that it gains, changes or loses, once Store::reflect_in() was given the mirror. The
// calls come from within the table's own calls, on their thread, and must not call the table.
#pragma once

#include <string_view>

namespace scela::cache {

class Mirror {
 public:
  virtual ~Mirror() = default;
  // Adds the pair to the copy, or replaces the value of its key. Both views are valid only during
  // the call.
  virtual void set(std::string_view key, std::string_view value) = 0;
  // Removes the pair with this key from the copy. The view is valid only during the call.
  virtual void erase(std::string_view key) = 0;
};

}  // namespace scela::cache
