#include "launcher/plan/pmi_choice.h"

#include <algorithm>
#include <optional>

#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "common/os/process/child.h"
#include "launcher/core/program/pmi_need.h"
#include "launcher/plan/dependencies.h"

namespace scela {

namespace {

std::string_view value_of(const LaunchContext& context, std::string_view name,
                          std::string_view otherwise) {
  const std::string_view value = variable_value(context.environment, name);
  return value.empty() ? otherwise : value;
}

std::string_view path_of(const LaunchContext& context) {
  return value_of(context, "PATH", kUsualPath);
}

// The PMI that a program needs.
struct Finding {
  PmiNeed need = PmiNeed::unknown;  // unknown: absent, or no sign of it
  std::string why;                  // for the user
  std::string file;                 // the file that shows it
  // Set if the need is unknown and the program can neither load a library nor start a program.
  bool stays = false;
};

// Returns std::nullopt if the file is no program, or a script. If `wanted` is set, only libraries
// with this need count.
std::optional<PmiGuess> guess_for(const std::string& file, const LaunchContext& context,
                                  std::optional<PmiNeed> wanted = {}) {
  PmiGuess guess;
  const auto see = [&](const std::string& name) {
    PmiGuess one = pmi_need({name});
    if (one.need == PmiNeed::unknown || (wanted && one.need != *wanted)) return true;
    guess = std::move(one);
    return false;
  };
  if (!for_each_library(file, value_of(context, "LD_LIBRARY_PATH", ""), see)) return std::nullopt;
  return guess;
}

// Only this many of a program's arguments are examined.
constexpr std::size_t kMaxWords = 32;

// Finds the need of a program. If it shows none, the program that it is given to run counts (under
// env, gdb or numactl). Scripts are not examined.
Finding find_need(const App& app, const LaunchContext& context, bool once_per_host) {
  if (app.argv.empty()) return {};
  std::string directory = app.wdir.value_or(context.directory);
  if (!directory.starts_with('/')) directory = cat(context.directory, "/", directory);
  const std::string search =
      app.path ? cat(*app.path, ":", path_of(context)) : std::string(path_of(context));
  const std::string& program = app.argv.front();
  auto found = find_program(program, search, directory);
  // The working directory is searched last, as when ranks are started.
  if (!found && !once_per_host) found = find_program(program, ".", directory);
  if (!found) return {};
  if (!found->starts_with('/')) found = cat(directory, "/", *found);
  const auto guess = guess_for(*found, context);
  if (!guess) return {};
  if (guess->need != PmiNeed::unknown)
    return {guess->need, cat("'", program, "' needs ", guess->by), std::move(*found)};
  if (const PmiGuess fixed = need_of_static(*found); fixed.need != PmiNeed::unknown) {
    return {fixed.need, cat("'", program, "' is static and names ", fixed.by), std::move(*found)};
  }
  // If a command runs once on each host, files are often its subject: ls -l /opt/bin/solver.
  if (once_per_host) return {};
  if (cannot_start_programs(*found, value_of(context, "LD_LIBRARY_PATH", "")))
    return {PmiNeed::unknown, "", "", true};
  for (std::size_t i = 1; i < std::min(app.argv.size(), kMaxWords); ++i) {
    const std::string& word = app.argv[i];
    if (word.starts_with('-')) continue;
    auto file = find_program(word, search, directory);
    if (!file) continue;
    const auto inner = guess_for(*file, context);
    if (!inner || inner->need == PmiNeed::unknown) continue;
    return {inner->need, cat("'", program, "' runs '", word, "', which needs ", inner->by),
            std::move(*file)};
  }
  return {};
}

struct Choice {
  PmiNeed need = PmiNeed::pmi;
  std::string why;
};

// Chooses if no program shows what it needs. A script, an interpreter or a program with no
// libraries may be or become a program of any MPI. It then gets PMI-1, PMI-2 and PMIx.
Choice for_unknown(const Options& options, bool once_per_host, bool all_stay) {
  const std::string shows_none = cat("'", options.apps.front().argv.front(), "' shows no MPI");
  if (once_per_host) return {PmiNeed::pmi, cat(shows_none, ", and runs once on each host")};
  if (all_stay)
    return {PmiNeed::pmi, cat(shows_none, ", and loads no libraries and starts no programs")};
  return {PmiNeed::pmix, cat(shows_none, ", and may be, or start, any MPI's program")};
}

}  // namespace

std::vector<std::string> warn_of_pmi(const Options& options, const LaunchContext& context) {
  PmiNeed stated = PmiNeed::pmi;
  std::string_view word = "fd";
  if (options.pmi == PmiKind::pmix) {
    stated = PmiNeed::pmix;
    word = "pmix";
  } else if (options.pmi == PmiKind::port) {
    word = "port";
  } else if (options.pmi != PmiKind::fd) {
    return {};
  }
  const bool once_per_host = runs_once_per_host(options, context);
  std::vector<std::string> out;
  for (const App& app : options.apps) {
    const Finding found = find_need(app, context, once_per_host);
    if (found.need == PmiNeed::unknown || found.need == stated) continue;
    // Some programs are built for both.
    const auto other = guess_for(found.file, context, stated);
    if (other && other->need == stated) continue;
    std::string text =
        cat(found.why, found.need == PmiNeed::pmix ? " (PMIx)" : " (PMI)", ", and --pmi ", word,
            " gives it none: each rank will be a world of its own");
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

Result<PmiChoice> choose_pmi(Options& options, const LaunchContext& context) {
  if (options.pmi != PmiKind::automatic) return PmiChoice();
  const bool once_per_host = runs_once_per_host(options, context);
  std::optional<Choice> chosen;
  bool all_stay = true;
  for (const App& app : options.apps) {
    if (app.argv.empty()) return PmiChoice();
    Finding found = find_need(app, context, once_per_host);
    all_stay = all_stay && found.stays;
    if (found.need == PmiNeed::unknown) continue;
    if (!chosen) {
      chosen = {found.need, std::move(found.why)};
    } else if (chosen->need != found.need) {
      return fail(Error{ErrorKind::usage, "choose what ranks speak (--pmi auto)", "",
                        cat("the programs differ: ", chosen->why, ", ", found.why),
                        "programs of MPICH and of Open MPI cannot be one job; run two"});
    }
  }
  if (options.apps.empty()) return PmiChoice();
  const bool guessed = !chosen;
  if (guessed) chosen = for_unknown(options, once_per_host, all_stay);
  options.pmi = chosen->need == PmiNeed::pmix ? PmiKind::pmix : PmiKind::fd;
  return PmiChoice{std::move(chosen->why), guessed};
}

}  // namespace scela
