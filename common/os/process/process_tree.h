// The processes below this one: finding them, signalling them, and knowing when none is left. A
// process is below another one if it is its child, or a child's child, and so on. Agents and
// guardians (nla/) use it to leave no process of a job on a node.
//
// A process that is a child subreaper inherits every orphan below it. So once it has no children,
// it has no descendants. Agents of other nodes that happen to live below this process are not
// touched, nor are processes below them. The caller can tell agents from other processes.
//
// A caller names further processes that it needs as `kept`: the numbers of sessions, in ascending
// order. A session's number is that of the process that began it. Processes in such a session, and
// all below them, are not leftovers: they are neither signalled nor counted. No other process gets
// a session's number while one of the session's processes lives, even if its first has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace scela {

// Makes orphans below this process its children. Returns false if the system cannot (before Linux
// 3.4).
bool become_subreaper();

// The processes below this process.
class Descendants {
 public:
  using IsAgent = std::function<bool(pid_t)>;
  // `is_agent` returns true for a process that is an agent, which is left alone. If it is empty, no
  // process is an agent.
  explicit Descendants(IsAgent is_agent = {}) : is_agent_(std::move(is_agent)) {}

  // Sends `signo` to every living descendant that is neither kept nor an agent. Sends SIGCONT after
  // it, so that a stopped one acts on it. Returns the number of processes that got the signal.
  // Processes of another user, which may not be signalled, do not count.
  std::size_t signal_all(int signo, const std::vector<pid_t>& kept = {}) const;

  // Returns true if a child is left that is neither kept nor an agent; a dead child that is not
  // reaped counts. Processes that may not be signalled do not count.
  bool any(const std::vector<pid_t>& kept = {}) const;

  // Returns the names of the descendants that are neither kept nor agents and have not begun to
  // exit, as the kernel has them (at most 15 bytes). Processes of other users count.
  std::vector<std::string> names(const std::vector<pid_t>& kept = {}) const;

  // Returns the children that are agents and not kept. Their guardian is dead, so that they became
  // children of this process.
  std::vector<pid_t> orphaned_agents(const std::vector<pid_t>& kept) const;

 private:
  bool is_agent(pid_t pid) const { return is_agent_ && is_agent_(pid); }
  // Returns true if the process is neither kept nor an agent.
  bool is_left(pid_t pid, const std::vector<pid_t>& kept) const;
  // Appends the descendants of `parent` that count as leftovers. `depth` is the number of
  // generations between this process and `parent`; it bounds the recursion.
  void collect(pid_t parent, int depth, const std::vector<pid_t>& kept,
               std::vector<pid_t>& out) const;

  IsAgent is_agent_;
};

// Returns true if /proc is mounted with hidepid. In that case, processes that are not dumpable
// cannot be inspected there, not even by their own user.
bool proc_hides_processes();
// Protects the memory of this process, which has the keys of a job: from now on it leaves no core
// file, and no other process of the user can read its memory. execve undoes it. The call does
// nothing if /proc hides such processes, because agents could not tell each other from what ranks
// leave behind.
void keep_secrets();
// From now on a core file of this process has no memory in it, so that keys do not get there.
// Unlike after keep_secrets(), other processes of the user may read its memory, and find its
// sockets.
void leave_memory_out_of_core_files();

// Returns the children of a process, including those that its threads started; for this process
// itself, those of its main thread only. The list is empty if there is no such process.
std::vector<pid_t> children_of(pid_t pid);

// The state of a process, as /proc/PID/stat has it.
struct ProcessFacts {
  char state = '?';   // as ps shows it: R, S, D, T, Z, ...
  pid_t parent = 0;   // process id
  pid_t group = 0;    // process group
  pid_t session = 0;  // id of the process that began it
  // The start of the process, in clock ticks since the machine's start.
  std::uint64_t started = 0;
};
// Fills `facts`. Returns false if there is no such process.
bool facts_of(pid_t pid, ProcessFacts& facts);
// Returns true once the process has begun to exit: it closes its descriptors before it can be
// reaped. Returns true also if there is no such process.
bool is_exiting(pid_t pid);

}  // namespace scela
