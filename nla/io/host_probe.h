// Asks the kernel of another machine whether the machine is alive, whatever its processes do. The
// probe connects to a port without a listener. A machine that is up refuses the connection; there
// is no answer if the machine or the way to it is gone. The shell asks about its parent's machine
// this way.
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

class HostProbe {
 public:
  virtual ~HostProbe() = default;
  // Asks unless a question is open. Of an open question the first further call does nothing and the
  // second replaces it, so that the kernel's growing pauses between its own attempts do not count.
  virtual void ask() = 0;
};

// `answered` is called from the event loop for every answer.
std::unique_ptr<HostProbe> make_host_probe(boost::asio::io_context& io, const Address& address,
                                           std::function<void()> answered);

}  // namespace scela::nla
