// Environment variables as texts "NAME=VALUE": the launcher and the agent look up and remove them.
// Pure; any thread may call the functions. All views are into the arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Returns what stands before the first '=', or the whole text if it has none.
inline std::string_view variable_name(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// Returns the value of the first variable with this name, or an empty view if there is none.
inline std::string_view variable_value(const std::vector<std::string>& environment,
                                       std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('='))
      return variable.substr(name.size() + 1);
  }
  return {};
}

}  // namespace scela
