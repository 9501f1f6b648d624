// The one visible table of scela-run's options.
//
// It drives parsing, --help, the manual page's option section, the SCELA_* variables and the
// configuration file's keys: an option exists by standing here. Values only; the rows live as long
// as the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options.h"

namespace scela {

enum class OptionGroup { programs, hosts, tree, remote, output, job_end, inspection, other };
inline constexpr OptionGroup kOptionGroups[] = {
    OptionGroup::programs, OptionGroup::hosts,   OptionGroup::tree,       OptionGroup::remote,
    OptionGroup::output,   OptionGroup::job_end, OptionGroup::inspection, OptionGroup::other};
std::string_view title_of(OptionGroup group);

enum class OptionArgument {
  none,      // a flag; long form also as --name=no, to undo a variable or a configuration file
  required,  // --name VALUE, --name=VALUE, -n VALUE, -nVALUE
  optional,  // --name or --name=VALUE; the short form takes none
};

enum class OptionScope {
  job,      // once for the job: on the command line in the first program's part only
  program,  // for the program whose part names it
};

// Where a value lands: the job, the program whose part names it, or every program's environment.
struct OptionTarget {
  Options& options;
  App& app;
  std::vector<EnvVariable>& global_env;
};

struct OptionRow {
  std::string_view name;      // long form without dashes; the key in a configuration file
  char short_name;            // 0: none
  std::string_view argument;  // as --help shows it: "N", "[=json]", "" for flags
  OptionArgument takes;
  OptionScope scope;
  OptionGroup group;
  std::string_view variable;  // "SCELA_NP"; "" if only the command line may say it
  std::string_view help;      // one line
  // Stores a value ("" for an option that stands alone); an error carries `why` (and maybe `hint`)
  // only, the caller says where it stood.
  Result<void> (*apply)(OptionTarget target, std::string_view value);

  // A row that no variable can set may still stand in a configuration file if it repeats.
  bool repeatable = false;
  bool in_config() const { return !variable.empty() || repeatable; }
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(std::string_view name);  // exact long name; null if there is none
const OptionRow* find_option(char short_name);

// The option that a mistyped name (dashes ignored) probably means; "" if nothing is near.
std::string_view nearest_option(std::string_view name);
// The same of a variable's name; "" too for one that is known or set for ranks (scela-run may run
// inside of one).
std::string_view nearest_variable(std::string_view name);

// A variable that libraries in ranks read (SCELA_RING), with a value that says nothing to them.
bool is_lost_on_ranks(std::string_view name, std::string_view value);

// "-n, --np N", "    --sim-nodes N", "-v, --verbose[=SUBSYSTEM]"
std::string option_heading(const OptionRow& row);

// Adds a variable, or replaces its value where it stands.
void set_env(std::vector<EnvVariable>& list, EnvVariable variable);

}  // namespace scela
