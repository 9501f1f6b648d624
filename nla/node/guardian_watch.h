// The watch over this agent's guardian (nla/guard/guardian.h). If the guardian is gone or wants the
// end of the node, the core gets event::GuardianLost. The shell uses this part, on its loop.
#pragma once

#include "nla/node/shell_context.h"

namespace scela::nla {

class GuardianWatch {
 public:
  explicit GuardianWatch(ShellContext& context) : context_(context), socket_(context.io) {}
  ~GuardianWatch();
  GuardianWatch(const GuardianWatch&) = delete;
  GuardianWatch& operator=(const GuardianWatch&) = delete;

  // From now on reads the guardian's socket, if there is a guardian.
  void start();

 private:
  void wait();

  ShellContext& context_;
  // The descriptor of ShellContext::guardian_socket, which owns it.
  boost::asio::posix::stream_descriptor socket_;
};

}  // namespace scela::nla
