// The socket where the engines of other nodes connect. Fabric has one, on the engine's one thread.
#pragma once

#include <cstdint>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "hca/engine/io/tagged_poller.h"
#include "hca/engine/net/endpoint.h"

namespace scela::hca {

// A listening TCP socket.
class Listener {
 public:
  // Listens at the address; port 0 means any. Returns an error if the address is not this machine's
  // or is in use.
  static Result<Listener> open(const Endpoint& at);

  // Returns the port at which it listens.
  std::uint16_t port() const { return port_; }
  // Adds the socket to the poller, also after pause(). Returns false if the kernel refuses.
  bool watch(const TaggedPoller& poller) const {
    return poller.add(socket_.get(), EPOLLIN, {Tag::Kind::fabric, 0, 0});
  }
  // Removes the socket from the poller: connections wait in the kernel.
  void pause(const TaggedPoller& poller) const { poller.remove(socket_.get()); }
  // Accepts the next connection that waits; it does not block. If the result is invalid, errno says
  // why; it is EAGAIN if no connection waits.
  Fd accept() const;
  void close() { socket_.reset(); }

 private:
  Listener(Fd socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}

  Fd socket_;
  std::uint16_t port_;
};

}  // namespace scela::hca
