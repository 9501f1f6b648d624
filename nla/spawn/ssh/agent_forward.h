// Lets programs at the other end of an ssh session use the ssh-agent of this end, as `ssh -A` does.
// Every channel that the server opens for it becomes a connection to the agent's socket. SshSession
// uses it.
//
// Event loop, one thread; the owner of the session drives it and so handles its packets. Memory is
// bounded: at most 16 channels exist at a time, and a channel ends if the ssh-agent does not take
// its bytes at once.
#pragma once

#include <functional>
#include <memory>
#include <string>

struct ssh_session_struct;

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// Forwards while it exists.
class AgentForward {
 public:
  // `session` is authenticated and borrowed. `socket` is the path of the ssh-agent's socket.
  // `written` is called if something was written to the session outside of the session's own turn.
  AgentForward(boost::asio::io_context& io, ssh_session_struct* session, std::string socket,
               std::function<void()> written);
  // To be destroyed before the session is freed.
  ~AgentForward();
  AgentForward(const AgentForward&) = delete;
  AgentForward& operator=(const AgentForward&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scela::nla
