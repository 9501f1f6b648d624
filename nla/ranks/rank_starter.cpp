#include "nla/ranks/rank_starter.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <span>
#include <string_view>

#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"
#include "nla/core/job/word_parts.h"
#include "nla/io/gpu_probe.h"
#include "nla/ranks/rank_counter_files.h"

namespace scela::nla {

namespace {

constexpr int kPmiDescriptor = 3;

// Variables that the agent sets, or that a launcher around this one has left. A rank that used the
// latter would speak to the wrong server.
constexpr std::string_view kRestartsVariable = "SCELA_RESTART_COUNT";
constexpr std::string_view kOwnVariables[] = {
    "SCELA_RANK",      "SCELA_SIZE",      "SCELA_LOCAL_RANK", "SCELA_LOCAL_SIZE",
    "SCELA_NODE",      "SCELA_JOB_ID",    "SCELA_NODE_INDEX", "SCELA_NODE_DIR",
    "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPIRUN_HOST",      "MPIRUN_PORT",
    "MPIRUN_RANK",     "MPIRUN_NPROCS",   "MPIRUN_ID",        kCountersVariable,
    kRestartsVariable};
// Open MPI's variables for programs that do not call MPI. A rank that has this one in its
// environment, as the launcher asked for them or runs as a rank of Open MPI itself, gets its own
// values.
constexpr std::string_view kOpenmpiVariable = "OMPI_COMM_WORLD_RANK";
constexpr std::string_view kEngineVariable = "SCELA_HCA_SOCKET";
constexpr std::string_view kOwnPrefixes[] = {"PMI_", "PMIX_"};

bool is_own(std::string_view name) {
  if (name.starts_with("PMIX_MCA_")) return false;  // for libpmix itself, names no server
  return std::ranges::find(kOwnVariables, name) != std::end(kOwnVariables) ||
         std::ranges::any_of(kOwnPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

bool is_openmpis(std::string_view variable) {
  const std::string_view name = variable_name(variable);
  return name.starts_with("OMPI_COMM_WORLD_") || name == "OMPI_UNIVERSE_SIZE";
}

// Returns true if the launcher around this one has set the variable. It may also come from the node
// of a rank that has spawned this one and passed its environment on.
bool is_of_another_agent(std::string_view variable) {
  return variable_name(variable) == kEngineVariable && variable.ends_with(cat("/", kEngineSocket));
}

// Later variables replace earlier ones of the same name.
std::vector<std::string> merged(std::initializer_list<const std::vector<std::string>*> lists,
                                bool has_styles) {
  std::vector<std::string> out;
  std::map<std::string_view, std::size_t> position;
  for (const auto* list : lists) {
    for (const std::string& variable : *list) {
      if (is_own(variable_name(variable)) || is_of_another_agent(variable)) continue;
      if (has_styles && is_of_outer_rank(variable_name(variable))) continue;
      const auto [at, is_new] = position.emplace(variable_name(variable), out.size());
      if (is_new) {
        out.push_back(variable);
      } else {
        out[at->second] = variable;
      }
    }
  }
  return out;
}

// Removes the variables from `environment` of which the names are in `own`.
void remove_names_of(const std::vector<std::string>& own, std::vector<std::string>& environment) {
  std::erase_if(environment, [&](const std::string& one) {
    return std::ranges::any_of(
        own, [&](const auto& two) { return variable_name(two) == variable_name(one); });
  });
}

RankFailure failure(int error, const std::string& what) {
  return {error, cat(what, ": ", errno_text(error))};
}

// The cause comes first, since a PATH may have thousands of characters, of which only the first are
// shown.
RankFailure not_found(int error, const std::string& name, std::string_view directory,
                      std::string_view search) {
  constexpr std::size_t kShown = 80;
  const std::size_t end = search.size() <= kShown ? search.size() : search.rfind(':', kShown);
  const bool is_cut = end < search.size();
  const std::string here = directory.empty() ? "" : cat("the working directory ", directory, ", ");
  return {error, cat("find '", name, "': ", errno_text(error), " (searched: ", here,
                     "PATH=", search.substr(0, end), is_cut ? ":..." : "", ")")};
}

// Its errno would be taken for the program's: a missing directory is no missing program.
RankFailure directory_failure(int error, const std::string& directory) {
  return {EIO, cat("enter the working directory '", directory, "': ", errno_text(error))};
}

tl::unexpected<RankFailure> refused(const Error& error) {
  return tl::unexpected(RankFailure{EMFILE, error.text()});
}

// MPIRUN_ID is a number of the job, positive and the same at all ranks: FNV-1a of its name.
std::uint32_t number_of(std::string_view job_id) {
  std::uint32_t hash = 2166136261U;
  for (const char c : job_id)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return std::max(hash & 0x7fffffffU, 1U);
}

}  // namespace

RankStarter::RankStarter(const Job& job, const RankSet& own, NodeFacts node, Fd null)
    : job_(&job), own_(own), node_(std::move(node)), null_(std::move(null)), window_(job.window) {
  if (job.training.styles.any()) nodes_ = RankNodes(job.map_of_world(0));
}

Result<RankStarter> RankStarter::create(const Job& job, const RankSet& own, NodeFacts node) {
  Result<Fd> null = open_file("/dev/null", O_RDONLY);
  if (!null) return fail(null.error());
  return RankStarter(job, own, std::move(node), std::move(*null));
}

RankStarter::Program RankStarter::prepare(const App& app) const {
  Program program;
  program.words = app.argv;
  program.directory = app.wdir.empty() ? job_->wdir : app.wdir;
  program.environment =
      merged({&node_.environment, &defaults_, &job_->env, &app.env}, job_->training.styles.any());
  struct stat facts {};
  // Another user may be barred from the directory.
  const auto is_barred = [](const std::string& path) { return ::access(path.c_str(), X_OK) != 0; };
  const bool is_home = program.directory == kHomeDirectory;
  if (is_home || (job_->once_per_host && app.wdir.empty() && is_barred(program.directory))) {
    program.directory = variable_value(program.environment, "HOME");
    if (program.directory.empty()) program.directory = "/";
  }
  if (!program.directory.empty() && ::stat(program.directory.c_str(), &facts) != 0) {
    program.failure = directory_failure(errno, program.directory);
    return program;
  }
  if (app.by_shell) {
    use_login_shell(program);
    return program;
  }
  std::string_view path = variable_value(program.environment, "PATH");
  if (path.empty()) path = kUsualPath;
  const std::string search = app.path.empty() ? std::string(path) : cat(app.path, ":", path);
  const std::string name = app.argv.empty() ? std::string() : app.argv.front();
  auto found = find_program(name, search, program.directory);
  // mpirun does so, though no shell does. Commands that run once on each host are found by PATH
  // only.
  const bool looks_here = !job_->once_per_host && !program.directory.empty();
  if (!found && looks_here) {
    if (auto here = find_program(name, ".", program.directory)) found = std::move(*here);
  }
  if (found) {
    program.path = std::move(*found);
  } else if (name.find('/') != std::string::npos) {
    program.failure = failure(found.error(), cat("execute '", name, "'"));
  } else {
    program.failure = not_found(found.error(), name,
                                looks_here ? std::string_view(program.directory) : "", search);
  }
  return program;
}

// The variable SHELL of the node is that of the login, as sshd has set it: an agent has no name
// service to look it up. On this machine it is passed on by scela-run. What the program's own
// options set is for the shell's children only.
void RankStarter::use_login_shell(Program& program) const {
  std::string_view said = variable_value(node_.environment, "SHELL");
  if (said.empty()) said = variable_value(job_->env, "SHELL");
  program.path = said.starts_with('/') ? said : "/bin/sh";
  if (::access(program.path.c_str(), X_OK) != 0) {
    program.failure = failure(errno, cat("execute the login shell '", program.path, "' (SHELL)"));
    return;
  }
  const std::string name = program.path.substr(program.path.rfind('/') + 1);
  program.words.insert(program.words.begin(), {name, "-c"});
}

RankStarter::Program& RankStarter::program_of(Rank rank) {
  const std::size_t index = job_->app_of(rank);
  const auto at = programs_.find(index);
  if (at != programs_.end()) return at->second;
  // Ranks start in the order of their programs; a job that spawns may have very many.
  constexpr std::size_t kRemembered = 64;
  if (programs_.size() >= kRemembered) programs_.erase(programs_.begin());
  return programs_.emplace(index, prepare(job_->apps[index])).first->second;
}

RankStarter::Program& RankStarter::under_debugger(const Program& program) {
  debugged_ = program;
  std::string_view search = variable_value(program.environment, "PATH");
  if (search.empty()) search = kUsualPath;
  const std::string& name = job_->debugger.front();
  if (auto found = find_program(name, search, program.directory)) {
    debugged_.path = std::move(*found);
  } else {
    debugged_.failure = not_found(found.error(), name, "", search);
  }
  // The debugger gets the file that was found, as it may search in another way.
  if (!debugged_.words.empty()) debugged_.words.front() = program.path;
  debugged_.words.insert(debugged_.words.begin(), job_->debugger.begin(), job_->debugger.end());
  return debugged_;
}

bool RankStarter::inherits_connection() const {
  return node_.pmi == PmiKind::fd || (node_.pmi == PmiKind::pmix && node_.pmi_guessed);
}

// Returns the connection of a rank that inherits one, else an empty pair.
Result<SocketPair> RankStarter::connection() const {
  if (!inherits_connection()) return SocketPair{};
  return make_socket_pair(SOCK_STREAM);
}

void RankStarter::bind(const std::map<Rank, CpuSet>& places,
                       const std::map<Rank, DomainSet>& memory) {
  for (const auto& [rank, domains] : memory)
    memory_.emplace(rank, MemoryPolicy(job_->placement.memory, domains));
  for (const auto& [rank, cpus] : places)
    places_[rank] = CpuMask(cpus);
}

tl::expected<StartedRank, RankFailure> RankStarter::start(Rank rank, bool held) {
  held_ = held;
  Program& itself = program_of(rank);
  if (itself.failure.error != 0) return tl::unexpected(itself.failure);
  Program& program = job_->debugged_ranks.contains(rank) ? under_debugger(itself) : itself;
  if (program.failure.error != 0) return tl::unexpected(program.failure);
  if (job_->terminal_ranks.contains(rank)) return start_on_terminal(program, rank);
  Result<Pipe> output = make_pipe();
  if (!output) return refused(output.error());
  Result<Pipe> error = make_pipe();
  if (!error) return refused(error.error());
  Result<SocketPair> pmi = connection();
  if (!pmi) return refused(pmi.error());
  Pipe input;
  if (job_->stdin_ranks.contains(rank)) {
    Result<Pipe> made = make_pipe();
    if (!made) return refused(made.error());
    input = std::move(*made);
  }
  const int descriptors[] = {input.read ? input.read.get() : null_.get(), output->write.get(),
                             error->write.get(), pmi->theirs.get()};
  const auto pid = execute(program, rank, descriptors);
  if (!pid) return tl::unexpected(pid.error());
  return StartedRank{*pid,
                     std::move(input.write),
                     std::move(output->read),
                     std::move(error->read),
                     std::move(pmi->ours),
                     Fd()};
}

tl::expected<StartedRank, RankFailure> RankStarter::start_on_terminal(Program& program, Rank rank) {
  Result<PseudoTerminal> terminal = open_pseudo_terminal();
  if (!terminal) return refused(terminal.error());
  Result<SocketPair> pmi = connection();
  if (!pmi) return refused(pmi.error());
  const int theirs = terminal->theirs.get();
  set_terminal_modes(theirs, job_->modes);
  set_window_size(theirs, window_);
  const int descriptors[] = {theirs, theirs, theirs, pmi->theirs.get()};
  const auto pid = execute(program, rank, descriptors, ChildGroup::own_terminal);
  if (!pid) return tl::unexpected(pid.error());
  return StartedRank{*pid,
                     Fd(),
                     std::move(terminal->ours),
                     Fd(),
                     std::move(pmi->ours),
                     std::move(terminal->theirs)};
}

std::vector<std::string> RankStarter::variables(Rank number) const {
  const std::size_t world = job_->world_of(number);
  const RankSet ranks = job_->ranks_of_world(world);
  const RankSet here = own_.intersection(ranks);
  const std::uint64_t local = here.index_of(number);
  const Rank rank = number - ranks.front();
  const std::uint64_t size = ranks.size();
  std::vector<std::string> out = {
      cat("SCELA_RANK=", rank),        cat("SCELA_SIZE=", size),
      cat("SCELA_LOCAL_RANK=", local), cat("SCELA_LOCAL_SIZE=", here.size()),
      cat("SCELA_NODE=", node_.name),  cat("SCELA_NODE_INDEX=", node_.index),
      cat("SCELA_JOB_ID=", job_->id),  cat("SCELA_NODE_DIR=", node_.directory),
      cat("MPI_LOCALRANKID=", local),  cat("MPI_LOCALNRANKS=", here.size())};
  if (node_.counters)
    out.push_back(cat(kCountersVariable, "=", counters_file(node_.directory, number)));
  const bool speaks_pmi = node_.pmi != PmiKind::pmix || node_.pmi_guessed;
  if (world > 0 && speaks_pmi) out.emplace_back("PMI_SPAWNED=1");
  const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
  switch (node_.pmi) {
    case PmiKind::fd:
      break;
    case PmiKind::port:
      add({cat("PMI_PORT=127.0.0.1:", node_.port), cat("PMI_ID=", number)});
      break;
    case PmiKind::pmgr_mvapich1:
      add({"MPIRUN_MPD=0", "NOT_USE_TOTALVIEW=1"});
      [[fallthrough]];
    case PmiKind::pmgr:
      add({"MPIRUN_HOST=127.0.0.1", cat("MPIRUN_PORT=", node_.port), cat("MPIRUN_RANK=", rank),
           cat("MPIRUN_NPROCS=", size), cat("MPIRUN_ID=", number_of(job_->id))});
      break;
    case PmiKind::pmix:
      for (std::string& variable : node_.of_rank(number))
        out.push_back(std::move(variable));
      break;
    case PmiKind::none:
      break;
  }
  if (inherits_connection())
    add({cat("PMI_RANK=", rank), cat("PMI_SIZE=", size), cat("PMI_FD=", kPmiDescriptor)});
  return out;
}

RankNumbers RankStarter::numbers_of(Rank number) const {
  const RankSet ranks = job_->ranks_of_world(job_->world_of(number));
  const RankSet here = own_.intersection(ranks);
  const std::int64_t universe = job_->universe_size();
  const std::string& program = job_->apps[job_->app_of(number)].argv.front();
  return {number - ranks.front(),
          ranks.size(),
          here.index_of(number),
          here.size(),
          own_.index_of(number),
          universe < 0 ? ranks.size() : static_cast<std::uint64_t>(universe),
          node_.index,
          node_.name,
          std::string_view(program).substr(program.rfind('/') + 1)};
}

void RankStarter::add_training(Rank number, const std::vector<std::string>& inherited,
                               std::vector<std::string>& own) const {
  const Training& training = job_->training;
  if (training.max_restarts > 0) own.push_back(cat(kRestartsVariable, "=", training.restarts));
  if (job_->world_of(number) > 0 || !training.styles.any()) return;
  const auto is_in = [](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const auto& one) { return variable_name(one) == name; });
  };
  for (const StyleVariable& variable : style_variables(training, nodes_, numbers_of(number))) {
    if (is_in(own, variable.name)) continue;
    if (variable.inherited == Inherited::stays && is_in(inherited, variable.name)) continue;
    own.push_back(cat(variable.name, "=", variable.value));
  }
}

// A list of the program's own options comes first, then one of the node (a scheduler has set it for
// the agent), and then one that is passed on from scela-run's machine.
Result<std::string> RankStarter::gpus_of(Rank number) const {
  const std::uint32_t each = job_->training.gpus_per_rank;
  if (each == 0) return std::string();
  const App& app = job_->apps[job_->app_of(number)];
  const GpuFacts facts = gpus_of_machine([&](std::string_view name) {
    for (const auto* list : {&app.env, &node_.environment, &job_->env}) {
      if (const std::string_view value = variable_value(*list, name); !value.empty())
        return std::string(value);
    }
    return std::string();
  });
  return gpus_of_rank(facts, node_.gpus, own_.index_of(number), each);
}

std::vector<std::string> RankStarter::words_of(const Program& program, Rank number) const {
  std::vector<std::string> words = program.words;
  if (!job_->training.expands_words) return words;
  std::string_view user = variable_value(program.environment, "USER");
  if (user.empty()) user = variable_value(program.environment, "LOGNAME");
  const Rank rank = number - job_->ranks_of_world(job_->world_of(number)).front();
  const WordParts parts{node_.name, node_.index, rank, job_->id, user};
  for (std::string& word : words)
    word = expand_word(word, parts);
  return words;
}

std::vector<std::string> RankStarter::additions_to(const Program& program, Rank rank) const {
  std::vector<std::string> own = variables(rank);
  const auto is_set = [&](std::string_view name) {
    return std::ranges::any_of(program.environment,
                               [&](const auto& one) { return variable_name(one) == name; });
  };
  if (is_set(kOpenmpiVariable)) {
    for (const StyleVariable& variable : openmpi_variables(numbers_of(rank)))
      own.push_back(cat(variable.name, "=", variable.value));
  }
  // The segment is only offered: a user sets it to 0 so that ranks use their sockets only.
  if (job_->world_of(rank) == 0 && inherits_connection() && !is_set("SCELA_SEGMENT")) {
    own.emplace_back("SCELA_SEGMENT=1");
  }
  // If both are there, an MPICH that speaks both ends, unless it is told which to take. libscela
  // takes PMIx, by which a process may join its job again.
  if (node_.pmi == PmiKind::pmix && node_.pmi_guessed) {
    if (!is_set("MPIR_CVAR_PMI_VERSION")) own.emplace_back("MPIR_CVAR_PMI_VERSION=1");
    if (!is_set("SCELA_BOOTSTRAP")) own.emplace_back("SCELA_BOOTSTRAP=pmix");
  }
  // Open MPI's processes that find no PMIx would each be a world of one. With this they end
  // instead.
  constexpr std::string_view kOpenMpisStart = "OMPI_MCA_ess";
  if (node_.lacks_pmix && !is_set(kOpenMpisStart))
    own.push_back(cat(kOpenMpisStart, "=^singleton"));
  if (!node_.engine_socket.empty() && !is_set(kEngineVariable)) {
    own.push_back(cat(kEngineVariable, "=", node_.engine_socket));
  }
  add_training(rank, program.environment, own);
  return own;
}

tl::expected<pid_t, RankFailure> RankStarter::execute(Program& program, Rank rank,
                                                      const int (&descriptors)[4],
                                                      ChildGroup group) {
  std::vector<std::string> own = additions_to(program, rank);
  const auto gpus = gpus_of(rank);
  if (!gpus) return tl::unexpected(RankFailure{EIO, gpus.error().text()});
  if (!gpus->empty()) own.push_back(*gpus);
  const bool like_openmpi =
      std::ranges::any_of(own, [](const auto& one) { return is_openmpis(one); });
  // Some variables of a training job are inherited too.
  std::vector<std::string> inherited = program.environment;
  if (job_->training.styles.any() || !gpus->empty()) remove_names_of(own, inherited);
  std::vector<std::string> words = words_of(program, rank);
  std::vector<char*> envp = argv_of(inherited);
  envp.pop_back();
  if (like_openmpi) std::erase_if(envp, [](const char* variable) { return is_openmpis(variable); });
  const std::vector<char*> more = argv_of(own);
  envp.insert(envp.end(), more.begin(), more.end());
  std::vector<char*> argv = argv_of(words);

  ChildSpec spec;
  spec.program = program.path.c_str();
  spec.argv = argv.data();
  spec.envp = envp.data();
  spec.directory = program.directory.empty() ? nullptr : program.directory.c_str();
  spec.descriptors = std::span(descriptors).first(inherits_connection() ? 4 : 3);
  spec.group = group;
  // If this agent and its guardian are killed at once, no other process on the node ends the rank.
  spec.dies_with_parent = true;
  spec.stops_at_start = held_;
  if (const auto place = places_.find(rank); place != places_.end()) spec.cpus = &place->second;
  if (const auto memory = memory_.find(rank); memory != memory_.end())
    spec.memory = &memory->second;
  auto pid = start_child(spec);
  if (!pid && pid.error().step == ChildStep::execute && pid.error().error == ENOEXEC) {
    // A script without "#!", which execvp gives to the shell.
    std::string shell = "/bin/sh";
    argv.front() = program.path.data();
    argv.insert(argv.begin(), shell.data());
    spec.program = shell.c_str();
    spec.argv = argv.data();
    pid = start_child(spec);
  }
  if (pid) return *pid;
  const auto [step, error] = pid.error();
  if (step == ChildStep::directory) {
    return tl::unexpected(directory_failure(error, program.directory));
  }
  RankFailure told{error, text_of(pid.error(), program.path)};
  if (step == ChildStep::execute && error == ENOENT) told.why += " (its interpreter is missing)";
  return tl::unexpected(std::move(told));
}

}  // namespace scela::nla
