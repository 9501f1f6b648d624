// Marks: how processes of one job on one machine tell the job's agents from any process that a rank
// may run.
//
//   scela-nla --link-fd 3 --name NODE --mark 5f0c...
//
// An agent is the process of a job on one node. If it ends what the ranks of its node have left, it
// must spare agents of other nodes among its descendants. These are simulated nodes, and children
// of an agent that was killed. The agents of a job share a key that no rank is told. A process's
// mark is a keyed digest of its number and the moment of its start, so that no other process can
// use it. The parent leaves room for the mark in the command line. The process writes its mark
// there when it has received the key.
//
// Agents, guardians and attached processes use it. It is not thread-safe. OpenSSL is used only in
// the .cpp file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace scela::nla {

// The number of characters of a mark.
inline constexpr std::size_t kMarkLength = 32;
inline constexpr char kMarkOption[] = "--mark";
// Returns the placeholder that stands in a command line until the process overwrites it with its
// mark.
std::string room_for_mark();

// Makes and checks the marks of one job. An agent is the process of the job on a node.
class AgentMarks {
 public:
  // Has no key, so that no process is recognized as an agent.
  AgentMarks() = default;
  // `key` has kCommonKeyBytes bytes (nla/core/wire/link_frames.h).
  explicit AgentMarks(std::string key) : key_(std::move(key)) {}

  // Returns the key of the constructor; empty: there is none.
  const std::string& key() const { return key_; }
  // Returns the mark that this process must show. Returns an empty string if there is no such
  // process, or no key.
  std::string mark_of(pid_t pid) const;
  // Returns true if the process shows its own mark and leads its session. A child between clone and
  // execve shows its parent's mark, which is not its own.
  bool is_agent(pid_t pid) const;

 private:
  std::string key_;
};

// Writes the mark into the command line of this process. `room` points to what room_for_mark()
// returned. Does nothing if `room` is nullptr or the mark is empty.
void show_mark(char* room, const std::string& mark);

}  // namespace scela::nla
