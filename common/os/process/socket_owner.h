// The user and socket at the other end of a TCP connection within this machine. Servers of ranks
// (PMI) use it to refuse other users.
//
// It is read from the kernel's socket table, because there is no SO_PEERCRED for TCP. After a
// process has closed its end, the end has no owner, even if bytes are still under way. A call
// blocks for microseconds. Any thread may call it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace scela {

// The socket at one end of a connection, and the user that made it.
struct SocketOwner {
  // The number N of "socket:[N]" in /proc/PID/fd; 0: the process has closed the socket.
  std::uint64_t inode = 0;
  uid_t user = 0;  // means nothing if inode is 0
};

// Returns the owner of the peer's end of a connected IPv4 socket; `fd` is this end. Returns
// std::nullopt if the kernel does not report it, or the peer is not of this machine.
std::optional<SocketOwner> peer_owner(int fd);
// The two ways in which peer_owner() finds it: one question to the kernel, or, for kernels without
// that, all of /proc/net/tcp. Tests call them alone.
std::optional<SocketOwner> peer_owner_by_netlink(int fd);
std::optional<SocketOwner> peer_owner_by_table(int fd);

// Returns true if the peer is a process of this user that has not closed its end. The caller asks
// after the peer has spoken or was accepted: a connection that is not accepted yet has no owner.
bool peer_is_this_user(int fd);

// Returns true if the process, or one below it, has the socket with this inode open. Returns false
// for inode 0.
bool holds_socket(pid_t pid, std::uint64_t inode);

}  // namespace scela
