// The table of all options of scela-run. options.cpp, mpiexec_words.cpp, manual.cpp, completion.cpp
// and config_text.cpp use it.
//
// The table drives parsing, --help, the option section of the manual page, the completion of the
// shells, the SCELA_* variables and the keys of the configuration file. An option exists if it has
// a row here. A command line has one part per program, separated by ":". All functions are pure and
// safe in any thread; the rows live as long as the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"

namespace scela {

// The groups of options in --help and in the manual page.
enum class OptionGroup {
  programs,
  hosts,
  tree,
  remote,
  output,
  job_end,
  training,
  inspection,
  other
};
inline constexpr OptionGroup kOptionGroups[] = {
    OptionGroup::programs, OptionGroup::hosts,      OptionGroup::tree,
    OptionGroup::remote,   OptionGroup::output,     OptionGroup::job_end,
    OptionGroup::training, OptionGroup::inspection, OptionGroup::other};
// Returns the heading of a group in --help, such as "Hosts and mapping".
std::string_view title_of(OptionGroup group);

// Says whether an option takes a value.
enum class OptionArgument {
  // A flag. The long form may be --name=no, to undo a variable or a configuration file.
  none,
  required,  // --name VALUE, --name=VALUE, -n VALUE
  // The form is --name or --name=VALUE. The short form takes no value.
  optional,
};

// Says what an option applies to.
enum class OptionScope {
  // Given once for the job; on the command line, in the first program's part only.
  job,
  program,  // for the program of its part only
};

// The places where a value may be stored: the options of the job, those of the program with the
// option in its part, and the variables of every program (--genv).
struct OptionTarget {
  Options& options;
  App& app;
  std::vector<EnvVariable>& global_env;
};

// One option.
struct OptionRow {
  // The long form without dashes, which is also the key in a configuration file.
  std::string_view name;
  char short_name;  // 0: none
  // The argument as --help shows it: "N", "[=json]", or "" for flags.
  std::string_view argument;
  OptionArgument takes;  // whether it takes a value
  OptionScope scope;     // what it applies to
  OptionGroup group;     // where --help shows it
  // The variable that sets the option, such as "SCELA_NP". It is empty if no variable can.
  std::string_view variable;
  std::string_view help;  // one line
  // Parses a value ("" for an option without one) and stores it in `target`. An error has only
  // `why` and perhaps `hint`; the caller adds the option and the source.
  Result<void> (*apply)(OptionTarget target, std::string_view value);

  // The words that the option takes, separated by blanks, as completion offers them. It is empty if
  // the values are numbers, names or files. A word that ends in ':' goes on with other text.
  std::string_view words = {};

  // The option may be given several times, and each value counts. Such an option may be in a
  // configuration file although no variable can set it.
  bool repeatable = false;
  // Returns true if the option may be in a configuration file.
  bool in_config() const { return !variable.empty() || repeatable; }
};

// Returns all rows, in the order of --help.
std::span<const OptionRow> option_table();
// Returns the row of an option by its exact long name, without dashes, or null if there is none.
const OptionRow* find_option(std::string_view name);
// Returns the row of an option by its letter, or null if there is none.
const OptionRow* find_option(char short_name);

// Returns the long name, without dashes, that a mistyped name probably means. Dashes in front of
// `name` are ignored. Returns "" if no name is near.
std::string_view nearest_option(std::string_view name);
// Returns the SCELA_* variable that a mistyped name probably means. Returns "" if none is near, and
// for a known name. It also returns "" for a variable that agents set for ranks, as scela-run may
// run inside a rank.
std::string_view nearest_variable(std::string_view name);

// Returns true if libraries in ranks read this variable (SCELA_RING, SCELA_SEGMENT) but do not
// understand the value.
bool is_invalid_for_ranks(std::string_view name, std::string_view value);

// Returns the option as --help shows it, such as "-n, --np N", "    --sim-nodes N" or "-v,
// --verbose[=SUBSYSTEM]".
std::string option_heading(const OptionRow& row);

// Returns the value that holds if no source sets the option, as its help names it: "(default: 3)" or
// "auto (default)". A flag without a source is "no". Returns "" if the help names none.
std::string_view default_of(const OptionRow& row);

// Adds a variable to the list. If the list has its name, the value is replaced and the position
// stays.
void set_env(std::vector<EnvVariable>& list, EnvVariable variable);

}  // namespace scela
