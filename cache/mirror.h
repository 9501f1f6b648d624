// Told of every pair that a table gains, changes or loses: for who keeps a copy of it elsewhere.
#pragma once

#include <string_view>

namespace scela::cache {

class Mirror {
 public:
  virtual ~Mirror() = default;
  virtual void set(std::string_view key, std::string_view value) = 0;
  virtual void erase(std::string_view key) = 0;
};

}  // namespace scela::cache
