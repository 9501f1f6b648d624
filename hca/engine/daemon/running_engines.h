// Finds the engines of this user on this node: started by agents, by programs or by hand.
// `scela-hca --status` uses it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace scela::hca {

// A process that runs an engine.
struct RunningEngine {
  pid_t pid = 0;
  std::string socket;  // the path where it listens
};

// Returns the engines in the order of their process numbers. It looks in /proc for this user's
// processes named scela-hca and the sockets that they hold. It connects to none of them, because an
// agent would start an engine for any process that connects to its socket.
std::vector<RunningEngine> running_engines();

// A listening Unix socket (SOCK_SEQPACKET): its inode number and its path.
struct ListeningSocket {
  ino_t inode = 0;
  std::string path;
};
// Returns the sockets with an absolute path in `table`, a text of the form of /proc/net/unix.
std::vector<ListeningSocket> listening_sockets(const std::string& table);

}  // namespace scela::hca
