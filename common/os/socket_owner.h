// Whose the other end of a TCP connection within this machine is.
//
// Read from the kernel's socket table: there is no SO_PEERCRED for TCP. An end whose process has
// closed it, though bytes are still under way, belongs to nobody any more. Blocks for microseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace scela {

struct SocketOwner {
  std::uint64_t inode = 0;  // as "socket:[N]" in /proc/PID/fd; 0: closed by its process
  uid_t user = 0;           // means nothing if inode is 0
};

// Of the peer of a connected IPv4 socket. None: the kernel does not say, or it is not of here.
std::optional<SocketOwner> peer_owner(int fd);
// The two ways of it: one question to the kernel; all of /proc/net/tcp, for kernels without it.
std::optional<SocketOwner> peer_owner_by_netlink(int fd);
std::optional<SocketOwner> peer_owner_by_table(int fd);

// Whether the peer is a process of this user that has not closed its end. To be asked when it has
// spoken or was accepted: a connection that its process has not accepted yet is nobody's.
bool peer_is_this_user(int fd);

// Whether the process, or one below it, has the socket open.
bool holds_socket(pid_t pid, std::uint64_t inode);

}  // namespace scela
