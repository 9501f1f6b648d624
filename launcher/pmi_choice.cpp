#include "launcher/pmi_choice.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

#include "common/core/text.h"
#include "common/os/child.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "launcher/core/elf.h"
#include "launcher/core/pmi_need.h"

namespace scela {

namespace {

std::string_view path_of(const Surroundings& around) {
  for (const std::string& variable : around.environment) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kUsualPath;
}

// What a file that is no regular one, or cannot be read, asks for is not known.
PmiGuess need_of_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const auto libraries = needed_libraries([&](std::uint64_t offset, std::size_t size) {
    std::string bytes;
    if (offset >= static_cast<std::uint64_t>(facts.st_size)) return bytes;
    bytes.resize(std::min(size, static_cast<std::size_t>(facts.st_size) - offset));
    const ssize_t got = retry([&] {
      return ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  });
  return libraries ? pmi_need(*libraries) : PmiGuess{};
}

struct Choice {
  PmiNeed need = PmiNeed::pmi;
  std::string why;
};

Choice by_system(const Surroundings& around, const std::string& program) {
  const auto found = find_program("mpiexec", path_of(around), around.directory);
  char real[PATH_MAX];
  if (!found || ::realpath(found->c_str(), real) == nullptr) {
    return {PmiNeed::pmi, cat("'", program, "' shows no MPI, and there is no mpiexec here")};
  }
  const PmiNeed need = pmi_need_of_launcher(real);
  return {need == PmiNeed::unknown ? PmiNeed::pmi : need,
          cat("'", program, "' shows no MPI, and mpiexec is ", real)};
}

Choice choice_for(const App& app, const Surroundings& around) {
  const std::string& program = app.argv.front();
  std::string directory = app.wdir.value_or(around.directory);
  if (!directory.starts_with('/')) directory = cat(around.directory, "/", directory);
  const std::string search =
      app.path ? cat(*app.path, ":", path_of(around)) : std::string(path_of(around));
  auto found = find_program(program, search, directory);
  if (!found) return by_system(around, program);
  if (!found->starts_with('/')) found = cat(directory, "/", *found);
  const PmiGuess guess = need_of_file(*found);
  if (guess.need == PmiNeed::unknown) return by_system(around, program);
  return {guess.need, cat("'", program, "' needs ", guess.by)};
}

}  // namespace

Result<std::string> choose_pmi(Options& options, const Surroundings& around) {
  if (options.pmi != PmiKind::automatic) return std::string();
  std::optional<Choice> chosen;
  for (const App& app : options.apps) {
    if (app.argv.empty()) continue;
    Choice choice = choice_for(app, around);
    if (!chosen) {
      chosen = std::move(choice);
    } else if (chosen->need != choice.need) {
      return fail(Error{ErrorKind::usage, "choose what ranks speak (--pmi auto)", "",
                        cat("the programs differ: ", chosen->why, ", ", choice.why),
                        "say which with --pmi: fd or pmix"});
    }
  }
  const bool pmix = chosen && chosen->need == PmiNeed::pmix;
  options.pmi = pmix ? PmiKind::pmix : PmiKind::fd;
  if (!chosen) return std::string();
  return cat("--pmi ", pmix ? "pmix" : "fd", ": ", chosen->why);
}

}  // namespace scela
