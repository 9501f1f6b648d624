// The owner of the other end of a TCP connection within this machine.
//
// It is read from the kernel's socket table, because there is no SO_PEERCRED for TCP. After a
// process has closed its end, the end has no owner, even if bytes are still under way. A call
// blocks for microseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace scela {

struct SocketOwner {
  // As in "socket:[N]" of /proc/PID/fd; 0: the process has closed the socket.
  std::uint64_t inode = 0;
  uid_t user = 0;  // means nothing if inode is 0
};

// Returns the owner of the peer of a connected IPv4 socket. Returns std::nullopt if the kernel does
// not report it, or the peer is not of this machine.
std::optional<SocketOwner> peer_owner(int fd);
// The two ways to find it: one question to the kernel, or, for kernels without that, all of
// /proc/net/tcp.
std::optional<SocketOwner> peer_owner_by_netlink(int fd);
std::optional<SocketOwner> peer_owner_by_table(int fd);

// Returns true if the peer is a process of this user that has not closed its end. The caller asks
// after the peer has spoken or was accepted: a connection that is not accepted yet has no owner.
bool peer_is_this_user(int fd);

// Returns true if the process, or one below it, has the socket open.
bool holds_socket(pid_t pid, std::uint64_t inode);

}  // namespace scela
