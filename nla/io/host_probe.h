// Asks the kernel of another machine whether the machine is alive, whatever its processes do. The
// probe connects to a port without a listener. A machine that is up refuses the connection; there
// is no answer if the machine is down or cannot be reached. The shell of an agent (its code with
// system calls) asks about its parent's machine in this way.
//
// Event loop, one thread; never blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nla/io/address.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// The probe of one machine.
class HostProbe {
 public:
  virtual ~HostProbe() = default;
  // Begins to connect, unless an attempt is open. If one is open, the first further call does
  // nothing and the second replaces it. So the kernel's growing pauses between its own attempts do
  // not count.
  virtual void ask() = 0;
};

// Makes the probe of the machine with this address and port. `answered` is called from the event
// loop for every answer.
std::unique_ptr<HostProbe> make_host_probe(boost::asio::io_context& io, const Address& address,
                                           std::function<void()> answered);

}  // namespace scela::nla
