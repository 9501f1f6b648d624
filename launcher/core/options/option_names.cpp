// The names in the table of options, as a user reads and types them: the option that a mistyped
// word means, the headings of --help, and the defaults.
#include <algorithm>
#include <vector>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"

namespace scela {
namespace {

// Returns the Levenshtein distance. Its cost is acceptable because names are short.
std::size_t distance_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Returns the nearest of the rows' names or variables, compared without their first `prefix`
// characters.
std::string_view nearest(std::string_view name, std::string_view OptionRow::*which,
                         std::size_t prefix) {
  constexpr std::size_t kLongestTypo = 32;  // a longer word is no typing mistake
  if (name.size() < 2 || name.size() > kLongestTypo) return {};
  std::string_view found;
  // A third of the letters may be wrong. In names of at least four letters, two may be wrong.
  std::size_t least = std::max<std::size_t>(name.size() / 3, name.size() >= 4 ? 2 : 1) + 1;
  for (const OptionRow& row : option_table()) {
    if ((row.*which).empty()) continue;
    const std::size_t distance = distance_between(name, (row.*which).substr(prefix));
    if (distance < least) {
      least = distance;
      found = row.*which;
    }
  }
  return found;
}

constexpr std::string_view kVariablePrefix = "SCELA_";
// The variables of ranks, as scela-run(1) lists them.
constexpr std::string_view kRankVariables[] = {
    "SCELA_RANK",       "SCELA_SIZE",     "SCELA_LOCAL_RANK",   "SCELA_LOCAL_SIZE", "SCELA_NODE",
    "SCELA_NODE_INDEX", "SCELA_JOB_ID",   "SCELA_NODE_DIR",     "SCELA_SEGMENT",    "SCELA_RING",
    "SCELA_HCA_SOCKET", "SCELA_COUNTERS", "SCELA_RESTART_COUNT"};
// The variables of ranks that a user may set for them, to 0 or 1.
constexpr std::string_view kSwitches[] = {"SCELA_SEGMENT", "SCELA_RING"};

}  // namespace

std::string_view nearest_option(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return nearest(name, &OptionRow::name, 0);
}

std::string_view nearest_variable(std::string_view name) {
  if (!name.starts_with(kVariablePrefix)) return {};
  if (std::ranges::find(kRankVariables, name) != std::end(kRankVariables)) return {};
  if (std::ranges::find(option_table(), name, &OptionRow::variable) != option_table().end())
    return {};
  name.remove_prefix(kVariablePrefix.size());
  for (const std::string_view one : kSwitches) {
    if (distance_between(name, one.substr(kVariablePrefix.size())) == 1) return one;
  }
  return nearest(name, &OptionRow::variable, kVariablePrefix.size());
}

bool is_invalid_for_ranks(std::string_view name, std::string_view value) {
  return std::ranges::find(kSwitches, name) != std::end(kSwitches) && !value.empty() &&
         value != "0" && value != "1";
}

std::string_view title_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::programs:
      return "Programs";
    case OptionGroup::hosts:
      return "Hosts and mapping";
    case OptionGroup::tree:
      return "Tree of agents";
    case OptionGroup::remote:
      return "Reaching the hosts";
    case OptionGroup::output:
      return "Input and output";
    case OptionGroup::job_end:
      return "End of the job";
    case OptionGroup::training:
      return "Training jobs";
    case OptionGroup::inspection:
      return "Inspection";
    case OptionGroup::other:
      return "Other";
  }
  return "";
}

std::string option_heading(const OptionRow& row) {
  const std::string start = row.short_name == 0 ? "    " : cat('-', row.short_name, ", ");
  const bool is_separate = row.takes == OptionArgument::required;
  return cat(start, "--", row.name, is_separate ? " " : "", row.argument);
}

std::string_view default_of(const OptionRow& row) {
  constexpr std::string_view kAfter = "(default: ";
  if (const auto at = row.help.find(kAfter); at != std::string_view::npos) {
    const std::string_view rest = row.help.substr(at + kAfter.size());
    return rest.substr(0, rest.find(')'));
  }
  const auto close = row.help.find("default)");
  if (close == std::string_view::npos) return row.takes == OptionArgument::required ? "" : "no";
  const std::string_view before = row.help.substr(0, row.help.rfind(" (", close));
  return before.substr(before.find_last_of(" ,:") + 1);
}

}  // namespace scela
