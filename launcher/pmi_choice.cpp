#include "launcher/pmi_choice.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

#include "common/core/text.h"
#include "common/os/child.h"
#include "launcher/core/pmi_need.h"
#include "launcher/dependencies.h"

namespace scela {

namespace {

std::string_view value_of(const Surroundings& around, std::string_view name,
                          std::string_view otherwise) {
  for (const std::string& variable : around.environment) {
    const std::string_view text = variable;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
      return text.substr(name.size() + 1);
    }
  }
  return otherwise;
}

std::string_view path_of(const Surroundings& around) {
  return value_of(around, "PATH", kUsualPath);
}

// What a program needs.
struct Finding {
  PmiNeed need = PmiNeed::unknown;  // unknown: it is not here, or nothing of it says
  std::string why;                  // for a person
  std::string file;                 // that says so
};

// With `wanted`, only libraries that say this count.
PmiGuess guess_for(const std::string& file, const Surroundings& around,
                   std::optional<PmiNeed> wanted = {}) {
  PmiGuess guess;
  for_each_library(file, value_of(around, "LD_LIBRARY_PATH", ""), [&](const std::string& name) {
    PmiGuess one = pmi_need({name});
    if (one.need == PmiNeed::unknown || (wanted && one.need != *wanted)) return true;
    guess = std::move(one);
    return false;
  });
  return guess;
}

Finding find_need(const App& app, const Surroundings& around) {
  if (app.argv.empty()) return {};
  std::string directory = app.wdir.value_or(around.directory);
  if (!directory.starts_with('/')) directory = cat(around.directory, "/", directory);
  const std::string search =
      app.path ? cat(*app.path, ":", path_of(around)) : std::string(path_of(around));
  auto found = find_program(app.argv.front(), search, directory);
  if (!found) return {};
  if (!found->starts_with('/')) found = cat(directory, "/", *found);
  const PmiGuess guess = guess_for(*found, around);
  if (guess.need == PmiNeed::unknown) return {};
  return {guess.need, cat("'", app.argv.front(), "' needs ", guess.by), std::move(*found)};
}

struct Choice {
  PmiNeed need = PmiNeed::pmi;
  std::string why;
};

Choice by_system(const Options& options, const Surroundings& around) {
  const std::string shows_none = cat("'", options.apps.front().argv.front(), "' shows no MPI");
  if (runs_once_per_host(options, around)) {
    return {PmiNeed::pmi, cat(shows_none, ", and runs once on each host")};
  }
  const auto found = find_program("mpiexec", path_of(around), around.directory);
  char real[PATH_MAX];
  if (!found || ::realpath(found->c_str(), real) == nullptr) {
    return {PmiNeed::pmi, cat(shows_none, ", and there is no mpiexec here")};
  }
  const PmiNeed need = pmi_need_of_launcher(real);
  return {need == PmiNeed::unknown ? PmiNeed::pmi : need,
          cat(shows_none, ", and mpiexec is ", real)};
}

}  // namespace

std::vector<std::string> warn_of_pmi(const Options& options, const Surroundings& around) {
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
  std::vector<std::string> out;
  for (const App& app : options.apps) {
    const Finding found = find_need(app, around);
    if (found.need == PmiNeed::unknown || found.need == stated) continue;
    // Some are built to speak both.
    if (guess_for(found.file, around, stated).need == stated) continue;
    std::string text =
        cat(found.why, found.need == PmiNeed::pmix ? " (PMIx)" : " (PMI)", ", and --pmi ", word,
            " gives it none: each rank will be a world of its own");
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

Result<std::string> choose_pmi(Options& options, const Surroundings& around) {
  if (options.pmi != PmiKind::automatic) return std::string();
  std::optional<Choice> chosen;
  for (const App& app : options.apps) {
    if (app.argv.empty()) return std::string();
    Finding found = find_need(app, around);
    if (found.need == PmiNeed::unknown) continue;
    if (!chosen) {
      chosen = {found.need, std::move(found.why)};
    } else if (chosen->need != found.need) {
      return fail(Error{ErrorKind::usage, "choose what ranks speak (--pmi auto)", "",
                        cat("the programs differ: ", chosen->why, ", ", found.why),
                        "programs of MPICH and of Open MPI cannot be one job; run two"});
    }
  }
  if (!chosen && options.apps.empty()) return std::string();
  if (!chosen) chosen = by_system(options, around);
  const bool pmix = chosen->need == PmiNeed::pmix;
  options.pmi = pmix ? PmiKind::pmix : PmiKind::fd;
  return cat("--pmi ", pmix ? "pmix" : "fd", ": ", chosen->why);
}

}  // namespace scela
