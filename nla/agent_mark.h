// Marks: how processes of one job on one machine tell its agents from anything that a rank may run.
//
//   scela-nla --link-fd 3 --name NODE --mark 5f0c...
//
// An agent that ends what the ranks of its node have left must spare the agents of other nodes that
// happen to live below it (simulated nodes, and children of an agent that was killed). The agents
// of a job share a key that no rank is told. A process's mark is a keyed digest of its number and
// the moment of its start, so that no other process can use it. The parent leaves room for the mark
// in the command line, and the process writes it there when it has heard the key.
//
// Not for threads. OpenSSL stays inside the .cpp file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace scela::nla {

inline constexpr std::size_t kMarkLength = 32;  // characters
inline constexpr char kMarkOption[] = "--mark";
// What stands in a command line until the process has written its mark over it.
std::string room_for_mark();

class AgentMarks {
 public:
  // Without a key no process is known for an agent.
  AgentMarks() = default;
  // `key`: kCommonKeyBytes (nla/core/link_frames.h).
  explicit AgentMarks(std::string key) : key_(std::move(key)) {}

  const std::string& key() const { return key_; }
  // Empty: there is no such process, or no key.
  std::string mark_of(pid_t pid) const;
  // Whether the process shows its mark and leads its session. A child between clone and execve
  // shows its parent's mark, which is none of its own.
  bool is_agent(pid_t pid) const;

 private:
  std::string key_;
};

// In the memory of this process' own command line: `room` points to what room_for_mark() returned.
// Does nothing if there is no room (nullptr) or no mark.
void show_mark(char* room, const std::string& mark);

}  // namespace scela::nla
