// The watch over this agent's guardian (nla/guard/guardian.h), the small process that cleans the
// node if the agent dies. If the guardian is gone or wants the end of the node, the core gets
// event::GuardianLost. The shell, the code around the agent's core that makes system calls, uses
// this part on its loop.
#pragma once

#include "nla/node/shell_context.h"

namespace scela::nla {

class GuardianWatch {
 public:
  // `context` is borrowed.
  explicit GuardianWatch(ShellContext& context) : context_(context), socket_(context.io) {}
  ~GuardianWatch();
  GuardianWatch(const GuardianWatch&) = delete;
  GuardianWatch& operator=(const GuardianWatch&) = delete;

  // Begins to read the guardian's socket. Does nothing if there is no guardian.
  void start();

 private:
  // Waits for the next record of the guardian, and handles it.
  void wait();

  ShellContext& context_;
  // The descriptor of ShellContext::guardian_socket, which owns it.
  boost::asio::posix::stream_descriptor socket_;
};

}  // namespace scela::nla
