// Lets programs at the other end of an ssh session use the ssh-agent of this end, as `ssh -A` does:
// every channel that the server opens for it becomes a connection to the agent's socket.
//
// Event loop, one thread; the session's packets are handled by whoever drives it. Bounded: a few
// channels at a time, and what the agent does not take at once ends its channel.
#pragma once

#include <functional>
#include <memory>
#include <string>

struct ssh_session_struct;

namespace boost::asio {
class io_context;
}

namespace scela::nla {

class AgentForward {
 public:
  // `written` is called when something was written to the session from outside its own turn.
  AgentForward(boost::asio::io_context& io, ssh_session_struct* session, std::string socket,
               std::function<void()> written);
  // Before the session is freed.
  ~AgentForward();
  AgentForward(const AgentForward&) = delete;
  AgentForward& operator=(const AgentForward&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scela::nla
