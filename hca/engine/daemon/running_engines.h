// Finds the engines of this user on this node: started by agents, by programs or by hand.
// `scela-hca --status` uses it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace scela::hca {

struct RunningEngine {
  pid_t pid = 0;
  std::string socket;  // the path where it listens
};

// Returns the engines in the order of their process numbers. It finds the processes named scela-hca
// and the sockets that they hold. It asks none of them, because an agent would start an engine for
// any process that connects to its socket.
std::vector<RunningEngine> running_engines();

// The path and inode number of a listening SOCK_SEQPACKET socket. `table` has the form of
// /proc/net/unix.
struct ListeningSocket {
  ino_t inode = 0;
  std::string path;
};
std::vector<ListeningSocket> listening_sockets(const std::string& table);

}  // namespace scela::hca
