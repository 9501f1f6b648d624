// The functions that store the value of an option, for the rows of option_table.cpp alone. Each one
// gets a value as it was typed, "" for an option without one. It returns an error with only `why`
// and perhaps `hint`. All functions are pure.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/options/option_values.h"

namespace scela::setters {

using Target = OptionTarget;
using Text = std::string_view;

// Stores a parsed value, or returns its error.
template <class T, class Field>
Result<void> store(Result<T> parsed, Field& field) {
  if (!parsed) return fail(std::move(parsed.error()));
  field = std::move(*parsed);
  return {};
}

// Stores a flag. On the command line a flag may have no value; elsewhere it has one.
template <class Field>
Result<void> store_flag(std::string_view value, Field& field) {
  return value.empty() ? store(Result<bool>(true), field) : store(parse_flag(value), field);
}

template <class T, class Field>
Result<void> store_choice(std::string_view value, Field& field,
                          std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::string known;
  for (const auto& [name, choice] : choices) {
    if (value == name) {
      field = choice;
      return {};
    }
    known += cat(known.empty() ? "" : " or ", name);
  }
  return fail(value_error(cat("'", value, "' is not known"), cat("give ", known)));
}

Result<void> store_env(std::string_view value, std::vector<EnvVariable>& list);
Result<void> apply_hosts(Target t, Text v);
// mpirun's -x sets a variable.
Result<void> apply_exclude(Target t, Text v);
// 0 means no limit, as for timeout(1).
Result<void> store_limit(Text v, std::optional<std::chrono::milliseconds>& limit);
Result<void> apply_host_timeout(Target t, Text v);
Result<void> apply_stats(Target t, Text v);
Result<void> apply_stack_traces(Target t, Text v);
// Without a value, all ranks are stopped.
Result<void> store_stopped(Text v, std::optional<RankChoice>& out);
// Without a value, the records go to standard output.
Result<void> apply_json(Target t, Text v);
// Accepts a flag or a pattern. A flag chooses the usual pattern.
Result<void> apply_label(Target t, Text v);
Result<void> apply_verbose(Target t, Text v);
// Accepts auto, local, ssh, ssh-exec[:WORDS], rsh[:COMMAND], the words of schedulers, and those of
// container_starter().
Result<void> apply_launch(Target t, Text v);
// A list of styles, or none of them.
Result<void> apply_env_style(Target t, Text v);
// The last of --hostfile and --host-discovery-script counts.
Result<void> store_hostfile(Target t, Text v, bool is_program);
Result<void> apply_connect_timeout(Target t, Text v);
// Accepts a choice of common/core/network/network_choice.h.
Result<void> apply_network(Target t, Text v);
Result<void> apply_heartbeat(Target t, Text v);
Result<void> apply_nodeset(Target t, Text v);
// run_command() obeys --as as the first word. Anywhere else, parse_options() refuses it.
Result<void> apply_as(Target t, Text v);

}  // namespace scela::setters
