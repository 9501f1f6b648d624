#include "launcher/core/compat/peer_call.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Returns the option's name in a word: "np" of "--np=4".
std::string_view name_in(std::string_view word) {
  return word.substr(2, word.find('=') - 2);
}

bool holds(const std::vector<std::string>& words, std::string_view name) {
  return std::ranges::any_of(words, [&](const auto& word) { return name_in(word) == name; });
}

}  // namespace

const std::string* PeerCall::variable(std::string_view name) const {
  const auto found =
      std::ranges::find(variables, name, &std::pair<std::string, std::string>::first);
  return found == variables.end() ? nullptr : &found->second;
}

bool PeerCall::has(const PeerProgram& program, std::string_view name) {
  return holds(program.options, name);
}

bool PeerCall::has(std::string_view name) const {
  return holds(job, name) ||
         std::ranges::any_of(programs, [&](const auto& one) { return has(one, name); });
}

Result<void> PeerCall::add(std::string word) {
  const OptionRow* row = find_option(name_in(word));
  if (row == nullptr) return fail(value_error(cat("scela-run has no option ", word)));
  Options unused;
  App app;
  std::vector<EnvVariable> env;
  const auto equals = word.find('=');
  const std::string_view value =
      equals == std::string::npos ? std::string_view() : std::string_view(word).substr(equals + 1);
  if (auto applied = row->apply({unused, app, env}, value); !applied) return applied;
  (row->scope == OptionScope::job ? job : program().options).push_back(std::move(word));
  return {};
}

Result<void> PeerCall::add_default(std::string_view name, std::string_view value) {
  if (has(name)) return {};
  return add(cat("--", name, value.empty() ? "" : "=", value));
}

}  // namespace scela
