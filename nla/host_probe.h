// Asks the kernel of another machine whether it is alive, not caring for what its processes do: a
// connection to a port that nobody listens at is refused by a machine that is there, and finds
// silence where the machine or the way to it is gone.
//
// Event loop, one thread; never blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nla/address.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

class HostProbe {
 public:
  virtual ~HostProbe() = default;
  // Asks unless a question is open. An open one is forgotten when the next but one is due, so that
  // the kernel's growing pauses between its own attempts do not count.
  virtual void ask() = 0;
};

// `answered` is called from the event loop for every answer.
std::unique_ptr<HostProbe> make_host_probe(boost::asio::io_context& io, const Address& address,
                                           std::function<void()> answered);

}  // namespace scela::nla
