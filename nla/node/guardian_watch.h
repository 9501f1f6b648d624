// The watch over this agent's guardian (nla/guard/guardian.h), the small process that cleans the
// node if the agent dies. If the guardian is gone, or a signal has told it or this agent to end,
// the core gets event::GuardianLost. The shell, the code around the agent's core that makes system
// calls, uses this part on its loop.
#pragma once

#include <memory>

#include "nla/node/shell_context.h"

namespace scela::nla {

class GuardianWatch {
 public:
  // `context` is borrowed.
  explicit GuardianWatch(ShellContext& context);
  ~GuardianWatch();
  GuardianWatch(const GuardianWatch&) = delete;
  GuardianWatch& operator=(const GuardianWatch&) = delete;

  // Begins to read the guardian's socket, and to take SIGTERM, SIGINT, SIGHUP, SIGUSR1 and
  // SIGUSR2. Does nothing if there is no guardian.
  void start();

 private:
  struct Signals;  // those to the agent itself

  // Waits for the next record of the guardian, and handles it.
  void wait();
  // Waits for a signal to the agent itself. It means the same as one to the guardian, because
  // schedulers send it to all processes of a step. The ranks would be killed with an agent that
  // dies of it, and have no time for their end.
  void wait_for_signal();
  // Ends the job on this node, or passes SIGUSR1 or SIGUSR2 to its ranks.
  void act_on(int signo);

  ShellContext& context_;
  // The descriptor of ShellContext::guardian_socket, which owns it.
  boost::asio::posix::stream_descriptor socket_;
  std::unique_ptr<Signals> signals_;
};

}  // namespace scela::nla
