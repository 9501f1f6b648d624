// A mirror keeps a copy of a table elsewhere. The table tells it of every pair that it gains,
// changes or loses (Store::reflect_in). Its calls come from within the table's own calls, on their
// thread.
#pragma once

#include <string_view>

namespace scela::cache {

class Mirror {
 public:
  virtual ~Mirror() = default;
  // The table has this value for the key from now on. Both views are valid only during the call.
  virtual void set(std::string_view key, std::string_view value) = 0;
  // The table has no pair with this key any more. The view is valid only during the call.
  virtual void erase(std::string_view key) = 0;
};

}  // namespace scela::cache
