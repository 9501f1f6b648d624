#include "launcher/core/options/option_values.h"

#include "common/core/text.h"

namespace scela {

Result<std::chrono::milliseconds> parse_grace(std::string_view text) {
  auto grace = parse_duration(text);
  if (grace && *grace > std::chrono::hours(24)) {
    return fail(value_error(cat("'", text, "' is more than a day"), "give a shorter time"));
  }
  return grace;
}

Result<EnvVariable> parse_env_variable(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(value_error(cat("'", text, "' is not NAME=VALUE"),
                            "to hand on a variable of this environment use --env-pass"));
  }
  return EnvVariable{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<EnvPass> parse_env_pass(std::string_view text) {
  if (text == "all") return EnvPass{EnvPass::Kind::all, {}};
  if (text == "none") return EnvPass{EnvPass::Kind::none, {}};
  EnvPass pass{EnvPass::Kind::names, split_list(text, ',')};
  for (const std::string& name : pass.names) {
    if (name.find('=') != std::string::npos) {
      return fail(value_error(cat("'", name, "' is not a variable's name"),
                              "give all, none or NAME,NAME,...; to set a value use --env"));
    }
  }
  if (pass.names.empty()) {
    return fail(value_error("no variable is named", "give all, none or NAME,NAME,..."));
  }
  return pass;
}

Result<StdinTarget> parse_stdin(std::string_view text) {
  if (text == "all") return StdinTarget{StdinTarget::Kind::all, 0};
  if (text == "none") return StdinTarget{StdinTarget::Kind::none, 0};
  const auto rank = parse_number(text, 0, kMaxRanks - 1);
  if (rank) return StdinTarget{StdinTarget::Kind::rank, *rank};
  return fail(value_error(rank.error().why, "give all, none or one rank's number"));
}

Result<RankChoice> parse_rank_choice(std::string_view text) {
  if (text == "all") return RankChoice{true, {}};
  auto ranks = RankSet::parse(text);
  if (!ranks) return fail(value_error(ranks.error().why, "give all, or ranks such as 0,3-5"));
  if (ranks->empty()) return fail(value_error("no rank is named", "give all, or ranks such as 0"));
  return RankChoice{false, std::move(*ranks)};
}

}  // namespace scela
