// The kernel's view of a TCP connection of this machine. It does not matter which process holds the
// connection, or whether that process is stopped.
//
// A call asks the kernel's socket table once, and blocks for microseconds. Any thread may call it.
#pragma once

#include <chrono>

struct sockaddr;

namespace scela {

// The states of a connection.
enum class ConnectionState : unsigned char {
  unknown,  // the kernel does not report it
  absent,   // there is no such connection now
  open,     // both ends may still speak
  // It is in another state of TCP: most often, one end has closed it.
  closing,
};

// Returns the state of the TCP connection between two ends, both IPv4 or both IPv6, with their
// ports. `own` is the end that is on this machine, and the kernel's table is asked for it. Returns
// unknown for other addresses.
ConnectionState connection_state(const sockaddr& own, const sockaddr& peer);

// Has the kernel break the connection of this socket if the peer's machine does not answer for the
// limit, or takes none of the bytes that wait for it in that time. The limit is a second at least.
// A machine answers also for a peer that is stopped or has nothing to say. For a socket that is no
// TCP connection the call has no effect.
void limit_silence(int socket, std::chrono::milliseconds limit);

}  // namespace scela
