// What the kernel knows of a TCP connection of this machine, whichever process holds it, and though
// that may be stopped.
//
// Asks the kernel's socket table once; blocks for microseconds.
#pragma once

struct sockaddr;

namespace scela {

enum class ConnectionState : unsigned char {
  unknown,  // the kernel does not say
  absent,   // there is no such connection, or no longer
  open,     // both ends may still speak
  closing,  // one end has closed it
};

// Of the connection between these two ends, both IPv4 or both IPv6, with their ports.
ConnectionState connection_state(const sockaddr& own, const sockaddr& peer);

}  // namespace scela
