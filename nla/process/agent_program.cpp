#include "nla/process/agent_program.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "common/crypto/hmac.h"
#include "common/os/affinity.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/adopt/adoption.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/dial_in.h"
#include "nla/dial/join_in.h"
#include "nla/dial/join_words.h"
#include "nla/guard/agent_mark.h"
#include "nla/guard/guardian.h"
#include "nla/io/agent_file.h"
#include "nla/node/job_sweep.h"
#include "nla/pack/agent_cache.h"
#include "nla/process/shell.h"

extern char** environ;

namespace scela::nla {

namespace {

constexpr int kUsage = 64;     // EX_USAGE
constexpr int kInternal = 70;  // EX_SOFTWARE
constexpr int kOther = 69;     // EX_UNAVAILABLE: of another build, or no job began
constexpr int kLate = 75;      // EX_TEMPFAIL: the job has begun
constexpr char kHelp[] =
    "usage: scela-nla --link-fd N --name NODE\n"
    "       scela-nla --stdio --name NODE --id BUILD [--cached DIR | --store DIR]\n"
    "       scela-nla --dial ADDRESS:PORT,... {--name-from VARIABLE | --own-name} --id BUILD\n"
    "                 [--credential TEXT]\n"
    "       scela-nla --sweep --job ID {--name-from VARIABLE | --own-name}\n"
    "       scela-nla --join HOST:PORT --key-file FILE [--name NAME] [--slots N]\n"
    "                 [--join-timeout SECONDS]\n"
    "The node launch agent of ScELA. scela-run starts it, but with --join the user does: the\n"
    "host is then one of the job of scela-run --listen PORT. See scela-nla(8).\n";

struct Arguments {
  int link = -1;
  int link_out = -1;
  bool stdio = false;
  std::string dial;  // addresses of scela-run
  std::string credential;
  std::string join;  // HOST:PORT of a scela-run that listens
  std::string key_file;
  std::uint32_t slots = 0;  // 0: as many as processors
  std::uint32_t join_s = 600;
  std::string name;
  bool has_name = false;  // --name was given
  std::string build;      // the build that the parent wants
  std::string cached;     // the file of the cache that this program came from
  std::string store;      // the file of the cache that its package was put into
  std::string removed;    // the file of the cache that was removed
  int package = -1;       // a descriptor
  std::string file;       // this program's file, to be removed
  bool attach = false;
  bool sweep = false;
  std::string job;
  std::string base;
  std::uint32_t wait_ms = 0;
  char* mark_room = nullptr;  // in the command line
  std::string wrong;          // what parse() did not accept, for a user
};

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, out).ptr == end;
}

std::string name_of_machine() {
  utsname names{};
  ::uname(&names);
  return names.nodename;
}

// Takes an option of --join. Returns false if it is none, or its value is malformed.
bool parse_join(std::string_view option, std::string_view value, Arguments& out) {
  out.wrong = cat("option ", option, ": '", value, "' is no number");
  if (option == "--slots") {
    if (!parse_number(value, out.slots)) return false;
    out.wrong = cat("option --slots: give a number from 1 to ", kMaxJoinSlots);
    return out.slots >= 1 && out.slots <= kMaxJoinSlots;
  }
  if (option == "--join-timeout") return parse_number(value, out.join_s);
  out.wrong = cat("option ", option, " is not known");
  if (option != "--join" && option != "--key-file") return false;
  (option == "--join" ? out.join : out.key_file) = value;
  return true;
}

bool joins_alone(Arguments& arguments) {
  arguments.wrong =
      "option --join: both sides must prove a key (name its file with --key-file FILE)";
  if (arguments.key_file.empty()) return false;
  arguments.wrong =
      "option --name: the name of a host has 1 to 253 letters, digits, '.', '_' and '-', and does "
      "not begin with '-'";
  if (arguments.has_name && !is_join_name(arguments.name)) return false;
  arguments.wrong = "option --join: the other options are for scela-run";
  return !arguments.stdio && !arguments.attach && arguments.dial.empty() && arguments.link < 0;
}

// Takes an option that has no value. Returns false if it is none.
bool take_flag(std::string_view option, Arguments& out) {
  if (option == "--own-name") out.name = name_of_machine();
  out.stdio = out.stdio || option == "--stdio";
  out.sweep = out.sweep || option == "--sweep";
  out.attach = out.attach || option == "--attach";
  return option == "--own-name" || option == "--stdio" || option == "--sweep" ||
         option == "--attach";
}

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (take_flag(option, out)) continue;
    if (++i == argc) {
      out.wrong = cat("option ", option, " has no value, or is not known");
      return false;
    }
    const std::string_view value = argv[i];
    if (option == "--dial") {
      out.dial = value;
    } else if (option == "--credential") {
      out.credential = value;
    } else if (option == "--name-from") {
      const char* const name = std::getenv(argv[i]);
      out.name = name == nullptr ? "" : name;
    } else if (option == "--name") {
      out.name = value;
      out.has_name = true;
    } else if (option == kMarkOption) {
      if (value.size() != kMarkLength) return false;
      out.mark_room = argv[i];
    } else if (option == "--id") {
      out.build = value;
    } else if (option == "--cached") {
      out.cached = value;
    } else if (option == "--store") {
      out.store = value;
    } else if (option == "--removed") {
      out.removed = value;
    } else if (option == "--package") {
      if (!parse_number(value, out.package)) return false;
    } else if (option == "--unlink") {
      out.file = value;
    } else if (option == "--job") {
      out.job = value;
    } else if (option == "--directory") {
      out.base = value;
    } else if (option == "--wait") {
      if (!parse_number(value, out.wait_ms)) return false;
    } else if (option == "--link-fd") {
      if (!parse_number(value, out.link)) return false;
    } else if (!parse_join(option, value, out)) {
      return false;
    }
  }
  if ((out.attach || out.sweep) == out.job.empty()) return false;
  if (!out.join.empty()) return joins_alone(out);
  if (out.name.empty()) return false;
  if (out.sweep) return !out.attach && !out.stdio && out.dial.empty() && out.link < 0;
  if (out.stdio || !out.dial.empty())
    return out.link < 0 && !out.build.empty() && out.stdio == out.dial.empty() &&
           (!out.attach || out.stdio);
  return out.link >= 0;
}

void say(const std::string& line) {
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

// Turns standard input and output into the link, on other numbers, since other code uses 0 and 1.
// Returns non-zero if this is not the agent that was asked for; the reason was reported.
int take_stdio(Arguments& arguments) {
  if (!arguments.file.empty()) ::unlink(arguments.file.c_str());
  const Result<AgentFile> self = AgentFile::open("/proc/self/exe", "");
  const std::string build = self ? self->build() : "unknown";
  if (build != arguments.build) {
    say(other_line(SCELA_VERSION, build));
    return kOther;
  }
  say(ready_line(build));
  if (arguments.package >= 0) ::fcntl(arguments.package, F_SETFD, FD_CLOEXEC);
  // The system names a program in memory by the number of its descriptor.
  ::prctl(PR_SET_NAME, "scela-nla");
  if (!arguments.cached.empty()) note_package_use(arguments.cached);
  if (!arguments.store.empty()) remove_old_packages(arguments.store);
  struct stat in {
  }, out{};
  ::fstat(STDIN_FILENO, &in);
  ::fstat(STDOUT_FILENO, &out);
  arguments.link = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in.st_ino != out.st_ino || in.st_dev != out.st_dev) {
    arguments.link_out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
  return 0;
}

// Removes the variables with this prefix, but for `kept`.
void remove_variables(std::string_view prefix, std::string_view kept = {}) {
  for (std::size_t at = 0; environ[at] != nullptr;) {
    const std::string_view variable = environ[at];
    const std::string name(variable_name(variable));
    const bool stays = !name.starts_with(prefix) || name == kept;
    if (stays || ::unsetenv(name.c_str()) != 0) ++at;  // the others move up
  }
}

// Connects to scela-run, from which the guardian learns its end. Returns non-zero if that fails, or
// if this is not the agent that was asked for; the reason was reported.
int dial(Arguments& arguments, const NetworkParts* network, std::optional<DialedIn>& dialed) {
  const Result<AgentFile> self = AgentFile::open("/proc/self/exe", "");
  const std::string build = self ? self->build() : "unknown";
  if (build != arguments.build) {
    std::fprintf(stderr,
                 "scela-nla: this agent is of build %s, and scela-run of build %s: install one "
                 "version on all machines\n",
                 build.c_str(), arguments.build.c_str());
    return kOther;
  }
  // Or what is opened next would be standard input.
  if (::fcntl(0, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
  Fd opened;
  if (network != nullptr && !arguments.credential.empty())
    opened = network->open_dial_credential(arguments.credential, kMungeSocket);
  Result<DialedIn> made = dial_in(arguments.dial, std::move(opened));
  if (!made) {
    std::fprintf(stderr, "scela-nla: %s\n", made.error().text().c_str());
    return kOther;
  }
  // srun has described the agent's own task. Ranks get the variables of the job from scela-run, but
  // for the socket of this node's broker of Flux.
  remove_variables("SLURM_");
  remove_variables("SRUN_");
  remove_variables("FLUX_", "FLUX_URI");
  ::setenv("SSH_CONNECTION", made->ssh_connection.c_str(), 1);
  arguments.link = made->socket.get();
  dialed = std::move(*made);
  return 0;
}

// Joins a job that waits for agents. Returns non-zero if that fails; the reason was reported.
int join(Arguments& arguments, std::optional<DialedIn>& dialed) {
  const auto refuse = [](const Error& error) {
    std::fprintf(stderr, "scela-nla: %s\n", error.text().c_str());
    if (error.kind == ErrorKind::launch) return kLate;
    return error.kind == ErrorKind::usage ? kUsage : kOther;
  };
  keep_secrets();
  Result<std::string> key = read_join_key(arguments.key_file);
  if (!key) return refuse(key.error());
  if (arguments.name.empty()) arguments.name = name_of_machine();
  if (!is_join_name(arguments.name)) {
    return refuse(Error{ErrorKind::usage, "join the job (--join)", arguments.name,
                        "it cannot be the name of a host", "give another one with --name"});
  }
  if (arguments.slots == 0)
    arguments.slots = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(allowed_cpus().size()));
  const Result<AgentFile> self = AgentFile::open("/proc/self/exe", "");
  arguments.build = self ? self->build() : "unknown";
  Result<DialedIn> made = join_in({arguments.join, *key, arguments.build, arguments.name,
                                   arguments.slots, std::chrono::seconds(arguments.join_s)});
  wipe(*key);
  if (!made) return refuse(made.error());
  ::setenv("SSH_CONNECTION", made->ssh_connection.c_str(), 1);
  arguments.link = made->socket.get();
  dialed = std::move(*made);
  return 0;
}

// Takes the steps before the agent is one: its stream, or a connection to scela-run. Returns
// non-zero if there is none; the reason was reported.
int meet_parent(Arguments& arguments, const NetworkParts* network,
                std::optional<DialedIn>& dialed) {
  if (arguments.stdio) return take_stdio(arguments);
  if (!arguments.dial.empty()) return dial(arguments, network, dialed);
  return arguments.join.empty() ? 0 : join(arguments, dialed);
}

ShellOptions shell_options(const Arguments& arguments, std::optional<DialedIn> dialed,
                           Fd guardian_socket, const NetworkParts* network) {
  ShellOptions options;
  options.role = Role::agent;
  options.agent = own_executable();
  options.spawn.package = arguments.package;
  options.removed = arguments.removed;
  options.spawn.network = network;
  options.node = arguments.name;
  options.build = arguments.build;
  if (dialed) {
    options.spawn.dial_secret = dialed->secret;
    options.dialed = std::move(dialed);
  } else {
    options.parent = Fd(arguments.link);
    options.parent_out = Fd(arguments.link_out);
  }
  options.guardian_socket = std::move(guardian_socket);
  options.remote = arguments.stdio || !arguments.dial.empty() || !arguments.join.empty();
  options.mark_room = arguments.mark_room;
  return options;
}

int failed(const Error& error) {
  std::fprintf(stderr, "scela-nla: %s\n", error.text().c_str());
  return kInternal;
}

}  // namespace

int run_agent_program(int argc, char** argv, const NetworkParts* network) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("scela-nla " SCELA_VERSION);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    // Only --join is for users.
    if (arguments.join.empty())
      std::fputs(kHelp, stderr);
    else
      std::fprintf(stderr, "scela-nla: %s (see scela-nla --help)\n", arguments.wrong.c_str());
    return kUsage;
  }
  // A scheduler sends these to all processes of a step, also before there are ranks.
  for (const int signo : {SIGUSR1, SIGUSR2})
    ::signal(signo, SIG_IGN);
  if (arguments.sweep) {
    sweep_job(arguments.job, arguments.name);
    return 0;
  }
  std::optional<DialedIn> dialed;
  if (const int status = meet_parent(arguments, network, dialed); status != 0) return status;
  // An agent leads a session (nla/guard/agent_mark.h). This fails only if that is so already.
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  keep_secrets();  // of the guardian too
  if (arguments.attach) {
    ::_exit(
        run_attached({arguments.job, node_directory(arguments.base, arguments.job, arguments.name),
                      arguments.wait_ms, arguments.link, arguments.link_out, arguments.stdio,
                      arguments.mark_room}));
  }
  raise_descriptor_limit();
  // Pieces of transfers, of 64 KiB, stay in the heap for those that follow. Larger ones go back to
  // the system.
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, 512 * 1024);
  Result<Fd> guardian_socket =
      fork_agent(arguments.link, arguments.link_out, arguments.mark_room,
                 dialed ? kNodeIsClean : '\0', arguments.join.empty() ? '\0' : kNextStart);
  if (!guardian_socket) return failed(guardian_socket.error());

  auto shell = Shell::create(
      shell_options(arguments, std::move(dialed), std::move(*guardian_socket), network));
  if (!shell) return failed(shell.error());
  int status = (*shell)->run();
  if (!arguments.join.empty() && (*shell)->was_in_vain()) {
    std::fprintf(stderr,
                 "scela-nla: %s: scela-run has ended while this agent waited for the start\n",
                 arguments.join.c_str());
    status = kOther;
  }
  // Everything is reported and cleaned up; the kernel frees the rest faster.
  ::_exit(status);
}

}  // namespace scela::nla
