// Starts a program, and reports a failure exactly. Agents start ranks, helpers and other agents
// with it; scela-run and scela-perf use it too.
//
// The child borrows its parent's memory until it executes the program (clone with CLONE_VM and
// CLONE_VFORK, as vfork). So the cost does not depend on the parent's size. The child reports a
// failure, the step and its errno, through that memory. The parent is suspended meanwhile (about
// 0.3 ms). The child gets the default disposition of the signals that launchers and shells ignore.
// It gets an empty signal mask, and only the descriptors that it was given. Two threads must not
// change signal masks at the same time as a call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/affinity.h"

namespace scela {

// The steps of a start, in the order in which they are taken. clone: make the process. group: make
// its process group or session. descriptors: give it its descriptors. terminal: make descriptor 0
// its controlling terminal. directory: enter the working directory. affinity: bind it to
// processors. memory: bind its memory to NUMA domains. trace: let the parent stop it at the start
// of the program (ptrace). execute: execve.
enum class ChildStep : std::uint8_t {
  clone,
  group,
  descriptors,
  terminal,
  directory,
  affinity,
  memory,
  trace,
  execute
};

// The step that failed.
struct ChildError {
  ChildStep step = ChildStep::clone;
  int error = 0;  // errno
};
// Returns the step for the text of an Error: "enter the working directory".
std::string_view name_of(ChildStep step);
// Returns the failure of a program's start as text: "create a process 'x': Resource temporarily
// unavailable (EAGAIN) (raise the limit ...)".
std::string text_of(const ChildError& error, std::string_view program);

// The process group and session of a child.
enum class ChildGroup : std::uint8_t {
  // The child leads a process group of its own, so that a signal reaches what it starts.
  own_group,
  own_session,  // leads a session too, without a terminal
  // The child leads a session; its descriptor 0 is the controlling terminal.
  own_terminal,
};

// Returns argv or envp of a ChildSpec: a pointer to each of `texts`, and a nullptr at the end. The
// pointers are valid while `texts` is not changed.
std::vector<char*> argv_of(std::vector<std::string>& texts);

// Describes the child. All pointers are borrowed for the duration of start_child().
struct ChildSpec {
  const char* program = nullptr;    // path given to execve
  char* const* argv = nullptr;      // ends with nullptr
  char* const* envp = nullptr;      // ends with nullptr
  const char* directory = nullptr;  // nullptr: the parent's
  // The i-th becomes the child's descriptor i; at most 16. The parent's own ones stay open.
  std::span<const int> descriptors;
  ChildGroup group = ChildGroup::own_group;
  const CpuMask* cpus = nullptr;         // nullptr: the parent's
  const MemoryPolicy* memory = nullptr;  // nullptr: the parent's
  // It gets SIGKILL, or SIGTERM, when the thread that has started it ends.
  bool dies_with_parent = false;
  bool ends_with_parent = false;
  // It is stopped, as by SIGSTOP, after it has executed the program and before the program's first
  // instruction. SIGCONT lets it go on.
  bool stops_at_start = false;
  // Processes that the child starts stay below it while it lives, daemons too.
  bool keeps_orphans = false;
};

// Starts the child and blocks until it has executed the program. Returns its process id; the caller
// must reap it. If it returns an error, no child is left.
tl::expected<pid_t, ChildError> start_child(const ChildSpec& spec);

// Returns how a child ended, as text. `status` is that of waitpid(): "ended with code 3", "was
// killed by signal 9 (SIGKILL)".
std::string end_of(int status);

// The search path for programs if PATH is not set.
inline constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

// Returns the path at which execvp would find `name`. A name with a '/' is taken as it is, relative
// to `directory`. Another name is looked for in the ':'-separated `search_path`, of which relative
// entries are relative to `directory` too. The error is execvp's errno: EACCES if a file was found
// that may not be executed, else ENOENT.
tl::expected<std::string, int> find_program(std::string_view name, std::string_view search_path,
                                            std::string_view directory);

}  // namespace scela
