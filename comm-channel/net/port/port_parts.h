// The connections of one port need two things from outside: the objects that all ports of the
// device share (PortParts), and the object that is told what happens at a port (PortUser).
// NetworkLink (comm-channel/net/network_link.h) makes both.
#pragma once

#include <cstddef>
#include <string>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/protocol/completion_looks.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Objects that all ports share. They outlive the ports.
struct PortParts {
  const verbs::Device& device;
  const verbs::Pd& pd;
  const verbs::Xrcd& xrcd;
  const verbs::Srq& srq;
  const verbs::CompChannel& events;
  const verbs::Cq& sends;
  const verbs::Cq& receives;
  const CompletionLooks& looks;  // at `receives`

  // Returns true with RC: then each rank has queue pairs of its own.
  bool by_rank() const { return device.capability.mode == verbs::Mode::rc; }
};

// Receives the events of all ports, in the thread that polls them. `port` is the index among the
// active ports of the device, and `peer` is a number of that port's PeerTable.
class PortUser {
 public:
  // The port is about to send a datagram to the peer, which may then send messages at once.
  virtual void addressed(std::size_t port, connect::PeerId peer) = 0;
  // These have the meaning of the actions in connect::action.
  virtual void drain(std::size_t port, connect::PeerId peer) = 0;
  virtual void posted_is_lost(std::size_t port, connect::PeerId peer) = 0;
  virtual void not_connected(std::size_t port, connect::PeerId peer, connect::Failure why) = 0;
  // The peer lives, and has given up this process.
  virtual void gave_up(std::size_t port, connect::PeerId peer) = 0;
  // The port can neither send nor receive datagrams any more.
  virtual void failed(std::size_t port, const std::string& why) = 0;
  // The numbers of connections and queue pairs may have changed (PortLinks::counts()).
  virtual void changed() = 0;
  // Returns the time since the link was made.
  virtual connect::Time now() const = 0;

 protected:
  ~PortUser() = default;
};

}  // namespace scela::channel
