// The table of all options of scela-run. options.cpp, mpiexec_words.cpp and manual.cpp use it.
//
// The table drives parsing, --help, the option section of the manual page, the SCELA_* variables
// and the keys of the configuration file. An option exists if it has a row here. All functions are
// pure and safe in any thread; the rows live as long as the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"

namespace scela {

enum class OptionGroup { programs, hosts, tree, remote, output, job_end, inspection, other };
inline constexpr OptionGroup kOptionGroups[] = {
    OptionGroup::programs, OptionGroup::hosts,   OptionGroup::tree,       OptionGroup::remote,
    OptionGroup::output,   OptionGroup::job_end, OptionGroup::inspection, OptionGroup::other};
std::string_view title_of(OptionGroup group);

enum class OptionArgument {
  // A flag. The long form may be --name=no, to undo a variable or a configuration file.
  none,
  required,  // --name VALUE, --name=VALUE, -n VALUE
  // The form is --name or --name=VALUE. The short form takes no value.
  optional,
};

enum class OptionScope {
  // Given once for the job; on the command line, in the first program's part only.
  job,
  program,  // for the program of its part
};

// The place of a value: the job, the program with the option in its part, or the environment of
// every program.
struct OptionTarget {
  Options& options;
  App& app;
  std::vector<EnvVariable>& global_env;
};

struct OptionRow {
  // The long form without dashes, which is also the key in a configuration file.
  std::string_view name;
  char short_name;  // 0: none
  // The argument as --help shows it: "N", "[=json]", or "" for flags.
  std::string_view argument;
  OptionArgument takes;
  OptionScope scope;
  OptionGroup group;
  // Such as "SCELA_NP". It is empty if no variable can set the option.
  std::string_view variable;
  std::string_view help;  // one line
  // Stores a value ("" for an option without one). An error has only `why` and perhaps `hint`; the
  // caller adds the place.
  Result<void> (*apply)(OptionTarget target, std::string_view value);

  // If an option may be repeated, it may be in a configuration file although no variable can set
  // it.
  bool repeatable = false;
  bool in_config() const { return !variable.empty() || repeatable; }
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(std::string_view name);  // exact long name; null if unknown
const OptionRow* find_option(char short_name);

// Returns the option that a mistyped name probably means, ignoring dashes. Returns "" if no name is
// near.
std::string_view nearest_option(std::string_view name);
// Returns the variable that a mistyped name probably means. Returns "" also for a known name, and
// for one that agents set for ranks, as scela-run may run inside a rank.
std::string_view nearest_variable(std::string_view name);

// Returns true if libraries in ranks read this variable (SCELA_RING) but do not understand the
// value.
bool is_lost_on_ranks(std::string_view name, std::string_view value);

// Returns a heading such as "-n, --np N", "    --sim-nodes N" or "-v, --verbose[=SUBSYSTEM]".
std::string option_heading(const OptionRow& row);

// Adds a variable, or replaces its value and keeps its position.
void set_env(std::vector<EnvVariable>& list, EnvVariable variable);

}  // namespace scela
