#include "perf/contest.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "perf/programs.h"

namespace scela::perf {

namespace {

namespace fs = std::filesystem;

struct Contestant {
  std::string name;
  std::vector<std::string> command;  // it precedes the words for the rank
  const char* how = "--rank";
};

Error failed(std::string what, std::string why, std::string hint = "") {
  return {ErrorKind::launch, std::move(what), "", std::move(why), std::move(hint)};
}

// The folder in which contestants are compiled: `keep`, or a folder that is removed with its
// contents.
class Folder {
 public:
  static Result<Folder> make(const std::string& keep) {
    if (!keep.empty()) {
      std::error_code error;
      fs::create_directories(keep, error);
      if (error) return fail(failed(cat("make the directory '", keep, "'"), error.message()));
      return Folder(fs::absolute(keep), true);
    }
    std::string name = (fs::temp_directory_path() / "scela-perf-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail(failed(cat("make the directory '", name, "'"), errno_text(errno)));
    return Folder(name, false);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!kept_ && !path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  Folder(fs::path path, bool kept) : path_(std::move(path)), kept_(kept) {}
  fs::path path_;
  bool kept_;
};

// Returns the folder of timed_loops.h and mpi_peer.cpp: installed beside this program, or in the
// source tree that built it.
Result<fs::path> sources(const fs::path& self) {
  for (const fs::path& place : {self.parent_path().parent_path() / "share" / "scela" / "perf",
                                fs::path(SCELA_PERF_SOURCES)})
    if (fs::exists(place / "mpi_peer.cpp")) return place;
  return fail(failed("find the source of the peers' contestants",
                     cat("no 'mpi_peer.cpp' in share/scela/perf beside '", self.string(), "'"),
                     "install ScELA completely"));
}

// Returns whether `program` exists and is no older than its sources.
bool is_current(const fs::path& program, const fs::path& source) {
  std::error_code error;
  const auto compiled = fs::last_write_time(program, error);
  if (error) return false;
  fs::recursive_directory_iterator it(source, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error))
    if (it->is_regular_file(error) && it->last_write_time(error) > compiled) return false;
  return !error;
}

Result<void> compile_peer(const std::string& name, const std::string& provider,
                          const fs::path& source, const fs::path& program) {
  // The program gets its final name only when it is complete: another scela-perf may look for it in
  // the same folder.
  const std::string partial = cat(program.string(), ".", ::getpid());
  const std::vector<std::string> compile{cat("mpicxx.", name),
                                         "-std=c++20",
                                         "-O3",
                                         "-DNDEBUG",
                                         cat("-DSCELA_PERF_PROVIDER=\"", provider, "\""),
                                         cat("-I", source.parent_path().string()),
                                         (source / "mpi_peer.cpp").string(),
                                         "-o",
                                         partial};
  if (::isatty(2) == 1)
    std::fprintf(stderr, "scela-perf: compiling the contestant of %s\n", name.c_str());
  std::error_code error;
  if (auto compiled = output_of(compile); !compiled) {
    fs::remove(partial, error);
    return fail(std::move(compiled.error()));
  }
  fs::rename(partial, program, error);
  if (error) return fail(failed(cat("rename '", partial, "'"), error.message()));
  return {};
}

Result<Contestant> peer(const std::string& name, const Options& options, const fs::path& source,
                        const fs::path& folder) {
  const std::string provider = cat(name, options.nodes > 1 ? "-tcp" : "-shm");
  const fs::path program = folder / provider;
  if (!is_current(program, source)) {
    if (auto done = compile_peer(name, provider, source, program); !done)
      return fail(std::move(done.error()));
  }
  const std::string ranks = cat(options.ranks);
  Contestant contestant{name, {}};
  // On simulated nodes of one machine both MPIs would use shared memory: these options make them
  // use TCP.
  if (name == "mpich") {
    contestant.command = {"mpiexec.hydra", "-n", ranks};
    if (options.nodes > 1)
      contestant.command.insert(contestant.command.end(), {"-genv", "UCX_TLS", "tcp,self", "-genv",
                                                           "MPIR_CVAR_NOLOCAL", "1"});
  } else {
    contestant.command = {"mpirun.openmpi",
                          "--allow-run-as-root",
                          "--oversubscribe",
                          "--bind-to",
                          "none",
                          "-n",
                          ranks,
                          "--mca",
                          "pml",
                          "ob1",
                          "--mca",
                          "btl",
                          options.nodes > 1 ? "tcp,self" : "vader,self"};
  }
  contestant.command.push_back(program.string());
  return contestant;
}

// `setting` is NAME=value or null.
Contestant channel(const Options& options, const std::string& self, std::string name,
                   const char* setting = nullptr) {
  std::vector<std::string> command{(fs::path(self).parent_path() / "scela-run").string(), "-n",
                                   cat(options.ranks)};
  if (!fs::exists(command[0])) command[0] = "scela-run";
  // An engine belongs to an adapter, and only simulated nodes have adapters.
  if (options.nodes > 1 || options.executor == "engine")
    command.insert(command.end(), {"--sim-nodes", cat(options.nodes), "--ppn",
                                   cat(options.ranks / options.nodes)});
  if (setting != nullptr) command.insert(command.end(), {"--env", setting});
  command.insert(command.end(), {"--pmi", "fd", "--bind-to", "none", self});
  return {std::move(name), std::move(command)};
}

std::string list_of(const std::vector<std::size_t>& numbers) {
  std::string list;
  for (const std::size_t number : numbers)
    list += cat(list.empty() ? "" : ",", number);
  return list.empty() ? "-" : list;
}

std::vector<std::string> rank_words(const Options& options, const char* how,
                                    const std::string& pattern) {
  std::string ops;
  for (const std::string& op : options.ops)
    ops += cat(ops.empty() ? "" : ",", op);
  const bool fits = options.ranks <= static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return {how,
          options.bench,
          list_of(options.sizes),
          cat(options.rounds),
          cat(options.round_seconds),
          cat(options.window),
          options.apart         ? "apart"
          : options.pin && fits ? "pin"
                                : "free",
          pattern,
          cat(options.delay_ms / 1e3),
          cat(::getpid()),
          ops.empty() ? "-" : ops,
          options.algorithm.empty() ? "-" : options.algorithm,
          options.executor,
          cat(options.concurrent),
          list_of(options.progress)};
}

// Returns the number of lines that a contestant prints.
std::size_t lines_of(const Options& options) {
  if (options.bench == "memory") return 1;
  if (options.bench == "coll") {
    // A barrier has no size.
    const auto barriers =
        static_cast<std::size_t>(std::ranges::count(options.ops, std::string("barrier")));
    return (options.ops.size() - barriers) * options.sizes.size() + barriers;
  }
  const bool sides = options.bench == "overlap" || options.bench == "noise";
  return options.sizes.size() * (sides ? 2 : 1);
}

Result<void> run(const Contestant& contestant, const Options& options, const std::string& pattern,
                 Report& report) {
  std::vector<std::string> words = contestant.command;
  const std::vector<std::string> more = rank_words(options, contestant.how, pattern);
  words.insert(words.end(), more.begin(), more.end());
  const auto output = output_of(words);
  if (!output) return fail(output.error());
  std::string_view rest = *output;
  std::size_t found = 0;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with('{')) continue;
    auto sample = parse_sample(line);
    if (!sample) return fail(std::move(sample.error()));
    report.add(contestant.name, std::move(*sample));
    ++found;
  }
  if (found == lines_of(options)) return {};
  return fail(failed(cat("run '", text_of(words), "'"),
                     cat("it told ", found, " of ", lines_of(options), " results")));
}

Result<Contestant> contestant_named(const std::string& name, const Options& options,
                                    const std::string& self, const fs::path& folder) {
  if (name == "write") return channel(options, self, name, "SCELA_CHANNEL_RENDEZVOUS=write");
  if (name == "offloaded")
    return channel(options, self, name, "SCELA_CHANNEL_RENDEZVOUS=offloaded");
  if (name == "copy") return Contestant{name, {self}, "--copy"};
  const auto source = sources(self);
  if (!source) return fail(source.error());
  return peer(name, options, *source, folder);
}

}  // namespace

Result<Report> run_contest(const Options& options, const std::string& self) {
  std::vector<Contestant> contestants{channel(options, self, "scela")};
  auto folder = Folder::make(options.keep);
  if (!folder) return fail(std::move(folder.error()));
  for (const std::string& name : options.peers) {
    auto made = contestant_named(name, options, self, folder->path());
    if (!made) return fail(std::move(made.error()));
    contestants.push_back(std::move(*made));
  }
  Report report;
  for (int turn = 0; turn < options.turns; ++turn)
    for (const std::string& pattern : options.patterns)
      for (const Contestant& contestant : contestants)
        if (auto done = run(contestant, options, pattern, report); !done)
          return fail(std::move(done.error()));
  return report;
}

}  // namespace scela::perf
