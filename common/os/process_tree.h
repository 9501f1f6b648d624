// The processes below this one: finding them, signalling them, knowing when none is left.
//
// A process that is a child subreaper inherits every orphan below it, so once it has no children it
// has no descendants. Agents of other nodes that happen to live below this process are not touched,
// nor what is below them; the caller can tell them from other processes.
//
// A caller names the further processes that it needs: `kept`, the numbers of sessions (ascending),
// each of which is the number of the process that it was begun with. What is in such a session, and
// all that is below, is no leftover: it is neither signalled nor counted. A session's number is not
// given to another process as long as one of its processes lives, even if its first has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace scela {

// Makes orphans below this process its children. False if the system cannot (before Linux 3.4).
bool become_subreaper();

class Descendants {
 public:
  using IsAgent = std::function<bool(pid_t)>;
  // `is_agent`: whether a process is an agent, which is left alone. Empty: none is.
  explicit Descendants(IsAgent is_agent = {}) : is_agent_(std::move(is_agent)) {}

  // Sends `signo` to every living descendant (SIGCONT after it, so that a stopped one acts on it);
  // number of processes it was sent to. Those that may not be signalled (another user's) do not
  // count.
  std::size_t signal_all(int signo, const std::vector<pid_t>& kept = {}) const;

  // True if a child is left that is not an agent, dead but not reaped ones included. Processes that
  // may not be signalled do not count.
  bool any(const std::vector<pid_t>& kept = {}) const;

  // Children that are agents, but for those that are kept: whose guardian is dead, so that they
  // fell to this process.
  std::vector<pid_t> orphaned_agents(const std::vector<pid_t>& kept) const;

 private:
  bool is_agent(pid_t pid) const { return is_agent_ && is_agent_(pid); }
  bool is_left(pid_t pid, const std::vector<pid_t>& kept) const;
  void collect(pid_t parent, int depth, const std::vector<pid_t>& kept,
               std::vector<pid_t>& out) const;

  IsAgent is_agent_;
};

// Whether /proc is mounted with hidepid: a process that is not dumpable cannot be looked at there
// then, not even by its own user.
bool proc_hides_processes();
// No core file of this process is left, and no other process of the user reads its memory, from now
// on: it holds the keys of a job. execve undoes it. Does nothing where /proc hides such processes:
// agents could not tell each other from what ranks leave behind.
void keep_secrets();
// A core file of this process has no memory in it, from now on: keys do not get there. Unlike after
// keep_secrets(), other processes of the user may look into it, and find its sockets.
void leave_memory_out_of_core_files();

// Children of a process, its threads' included; empty if there is no such process.
std::vector<pid_t> children_of(pid_t pid);

struct ProcessFacts {
  char state = '?';  // as ps: R, S, D, T, Z, ...
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t started = 0;  // when, in clock ticks since the machine's start
};
// False if there is no such process.
bool facts_of(pid_t pid, ProcessFacts& facts);
// True once the process is on its way out: it closes its descriptors before it can be reaped. True
// too if there is none.
bool is_exiting(pid_t pid);

}  // namespace scela
