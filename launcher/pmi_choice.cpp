#include "launcher/pmi_choice.h"

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

// What the program is linked to says; unknown: it is not here, or nothing of it says.
PmiGuess guess_for(const App& app, const Surroundings& around) {
  std::string directory = app.wdir.value_or(around.directory);
  if (!directory.starts_with('/')) directory = cat(around.directory, "/", directory);
  const std::string search =
      app.path ? cat(*app.path, ":", path_of(around)) : std::string(path_of(around));
  auto found = find_program(app.argv.front(), search, directory);
  if (!found) return {};
  if (!found->starts_with('/')) found = cat(directory, "/", *found);
  PmiGuess guess;
  for_each_library(*found, value_of(around, "LD_LIBRARY_PATH", ""), [&](const std::string& name) {
    guess = pmi_need({name});
    return guess.need == PmiNeed::unknown;
  });
  return guess;
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

Result<std::string> choose_pmi(Options& options, const Surroundings& around) {
  if (options.pmi != PmiKind::automatic) return std::string();
  std::optional<Choice> chosen;
  for (const App& app : options.apps) {
    if (app.argv.empty()) return std::string();
    const PmiGuess guess = guess_for(app, around);
    if (guess.need == PmiNeed::unknown) continue;
    std::string why = cat("'", app.argv.front(), "' needs ", guess.by);
    if (!chosen) {
      chosen = {guess.need, std::move(why)};
    } else if (chosen->need != guess.need) {
      return fail(Error{ErrorKind::usage, "choose what ranks speak (--pmi auto)", "",
                        cat("the programs differ: ", chosen->why, ", ", why),
                        "say which with --pmi: fd or pmix"});
    }
  }
  if (!chosen && options.apps.empty()) return std::string();
  if (!chosen) chosen = by_system(options, around);
  const bool pmix = chosen->need == PmiNeed::pmix;
  options.pmi = pmix ? PmiKind::pmix : PmiKind::fd;
  return cat("--pmi ", pmix ? "pmix" : "fd", ": ", chosen->why);
}

}  // namespace scela
