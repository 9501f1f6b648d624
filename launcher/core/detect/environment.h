// The environment of scela-run for the readers of launcher/core/detect: finds variables by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/variables/variable_text.h"

namespace scela {

// A view of entries "NAME=VALUE", which must outlive it. A variable with an empty value counts as
// one that is not set, because job scripts clear variables so.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& entries) : entries_(entries) {}

  // Returns the value, or std::nullopt if there is none. The view is into the entries.
  std::optional<std::string_view> find(std::string_view name) const {
    const std::string_view found = value(name);
    return found.empty() ? std::nullopt : std::optional(found);
  }
  // Returns the value, or "" if there is none.
  std::string_view value(std::string_view name) const { return variable_value(entries_, name); }

 private:
  const std::vector<std::string>& entries_;
};

}  // namespace scela
