// Parsers of the values of single options. The option table uses them. Errors have kind usage and
// only `why` and `hint`, as the caller knows the option and the source of the text. All functions
// are pure.
#pragma once

#include <chrono>
#include <string_view>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/core/values/text_values.h"

namespace scela {

// The limit of --host-timeout: the agents count milliseconds in 32 bits, which is about 49 days.
inline constexpr std::chrono::hours kMaxHostTimeout{24 * 40};
// Parses a time of at most a day, in the form of parse_duration().
Result<std::chrono::milliseconds> parse_grace(std::string_view text);
Result<EnvVariable> parse_env_variable(std::string_view text);  // "NAME=VALUE"
Result<EnvPass> parse_env_pass(std::string_view text);          // "all", "none" or "NAME,NAME"
Result<StdinTarget> parse_stdin(std::string_view text);         // "all", "none" or a rank's number
Result<RankChoice> parse_rank_choice(std::string_view text);    // "all" or ranks: "0,3-5"

}  // namespace scela
