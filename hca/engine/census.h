// Which engines of this user run on this node: started by agents, by programs or by hand.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace scela::hca {

struct RunningEngine {
  pid_t pid = 0;
  std::string socket;  // where it listens
};

// By the processes named scela-hca and the sockets that they hold, in the order of their numbers.
// Nobody is asked: an agent would start an engine for whoever knocks at its socket.
std::vector<RunningEngine> running_engines();

// The paths and numbers of sockets that listen for sequences of packets, as /proc/net/unix has
// them in `table`.
struct ListeningSocket {
  ino_t inode = 0;
  std::string path;
};
std::vector<ListeningSocket> listening_sockets(const std::string& table);

}  // namespace scela::hca
