// Starts a program. Ranks and other agents are started with it, and it reports a failure exactly.
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

// The child takes the steps in this order. name_of() says what each one tries.
enum class ChildStep : std::uint8_t {
  clone,
  group,
  descriptors,
  terminal,
  directory,
  affinity,
  execute
};

struct ChildError {
  ChildStep step = ChildStep::clone;
  int error = 0;  // errno
};
// Returns what a step tried, for the text of an Error: "enter the working directory".
std::string_view name_of(ChildStep step);
// Returns "create a process 'x': Resource temporarily unavailable (EAGAIN) (raise the limit ...)".
std::string text_of(const ChildError& error, std::string_view program);

enum class ChildGroup : std::uint8_t {
  // The child leads a process group of its own, so that a signal reaches what it starts.
  own_group,
  own_session,  // leads a session too, without a terminal
  // The child leads a session; its descriptor 0 is the controlling terminal.
  own_terminal,
};

// Returns argv or envp of a ChildSpec: a pointer to each of `texts`, which keeps the bytes, and a
// nullptr at the end.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

// All pointers are borrowed for the duration of start_child().
struct ChildSpec {
  const char* program = nullptr;    // path given to execve
  char* const* argv = nullptr;      // ends with nullptr
  char* const* envp = nullptr;      // ends with nullptr
  const char* directory = nullptr;  // nullptr: the parent's
  // The i-th becomes the child's descriptor i; at most 16.
  std::span<const int> descriptors;
  ChildGroup group = ChildGroup::own_group;
  const CpuMask* cpus = nullptr;  // nullptr: the parent's
  bool dies_with_parent = false;  // it gets SIGKILL then
  // Processes that the child starts stay below it while it lives, daemons too.
  bool keeps_orphans = false;
};

// Starts the child and blocks until it has executed the program. Returns its process id. A child
// that failed has been reaped.
tl::expected<pid_t, ChildError> start_child(const ChildSpec& spec);

// Returns how a child ended, from the status of waitpid(): "ended with code 3", "was killed by
// signal 9 (SIGKILL)".
std::string end_of(int status);

// The search path for programs if PATH is not set.
inline constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

// Returns where execvp would find `name`. A name with a '/' is taken as it is, relative to
// `directory`. Another name is looked for in the ':'-separated `search_path`. The error is
// execvp's: EACCES if a file was found that may not be executed, else ENOENT.
tl::expected<std::string, int> find_program(std::string_view name, std::string_view search_path,
                                            std::string_view directory);

}  // namespace scela
