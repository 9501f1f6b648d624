// Starting a program: what a rank or another agent begins with, and how a failure is told exactly.
//
// The child borrows its parent's memory until it executes the program (clone with CLONE_VM and
// CLONE_VFORK, as vfork), so the cost does not depend on the parent's size, and what goes wrong is
// handed back through that memory: the step and its errno. The parent is suspended meanwhile (about
// 0.3 ms). The child gets the default disposition of the signals that launchers and shells ignore,
// an empty signal mask and only the descriptors it was given. Not for several threads that change
// signal masks at the same time.
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
// "enter the working directory": what was tried, for the text of an Error.
std::string_view name_of(ChildStep step);
// "create a process 'x': Resource temporarily unavailable (EAGAIN) (raise the limit ...)".
std::string text_of(const ChildError& error, std::string_view program);

enum class ChildGroup : std::uint8_t {
  own_group,     // leads a process group of its own, so that a signal reaches what it starts
  own_session,   // leads a session too, without a terminal
  own_terminal,  // leads a session whose controlling terminal is its descriptor 0
};

// What argv and envp of a ChildSpec want: a pointer to each of `texts`, which keeps the bytes, and
// a nullptr at the end.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

// Everything is borrowed for the duration of start_child().
struct ChildSpec {
  const char* program = nullptr;     // path given to execve
  char* const* argv = nullptr;       // ends with nullptr
  char* const* envp = nullptr;       // ends with nullptr
  const char* directory = nullptr;   // nullptr: the parent's
  std::span<const int> descriptors;  // the i-th becomes the child's descriptor i; at most 16
  ChildGroup group = ChildGroup::own_group;
  const CpuMask* cpus = nullptr;  // nullptr: the parent's
  bool dies_with_parent = false;  // by SIGKILL
  bool keeps_orphans = false;     // what it starts stays below it, daemons too, while it lives
};

// The child's process id once it has executed the program. A child that failed has been reaped.
tl::expected<pid_t, ChildError> start_child(const ChildSpec& spec);

// How a child ended, from the status that waitpid() gives: "ended with code 3", "was killed by
// signal 9 (SIGKILL)".
std::string end_of(int status);

// Where programs are looked for if PATH is not set.
inline constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

// Where execvp would find `name`: a name with a '/' is taken as it is, relative to `directory`;
// another is looked for in the ':'-separated `search_path`. The error is execvp's: EACCES if
// something was found that may not be executed, else ENOENT.
tl::expected<std::string, int> find_program(std::string_view name, std::string_view search_path,
                                            std::string_view directory);

}  // namespace scela
