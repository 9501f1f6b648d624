// The environment of scela-run for the readers of launcher/core/detect: finds variables by name.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/text.h"

namespace scela {

// A view of entries "NAME=VALUE", which must outlive it. A variable with an empty value counts as
// one that is not set, because job scripts clear variables so.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& entries) : entries_(entries) {}

  // Returns the value, or std::nullopt if there is none. The view is into the entries.
  std::optional<std::string_view> find(std::string_view name) const {
    const std::string prefix = cat(name, "=");
    const auto at = std::ranges::find_if(
        entries_, [&](const std::string& entry) { return entry.starts_with(prefix); });
    if (at == entries_.end() || at->size() == prefix.size()) return std::nullopt;
    return std::string_view(*at).substr(prefix.size());
  }
  // Returns the value, or "" if there is none.
  std::string_view value(std::string_view name) const {
    return find(name).value_or(std::string_view());
  }

 private:
  const std::vector<std::string>& entries_;
};

}  // namespace scela
