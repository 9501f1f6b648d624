// Authenticates at an ssh server, behind the gate that all sessions of a process share. It offers
// one key after the other, at last those of an ssh-agent. SshSession uses it.
//
// Event loop, one thread. Only the work of an ssh-agent is done in a thread of its own, because
// libssh speaks its protocol in blocking calls. libssh is used only in the .cpp file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/os/asio.h"
#include "nla/spawn/auth_gate.h"
#include "nla/spawn/ssh/ssh_identities.h"

struct ssh_session_struct;  // libssh's

namespace scela::nla {

// The authentication of one session.
class SshLogin {
 public:
  // The state of the authentication, which says what to do next.
  enum class Progress {
    waiting,     // call offer_keys() when packets come
    asks_agent,  // ask_agent() is next
    accepted,    // the user is authenticated
    refused,     // all keys; refusal() has the text
    failed       // the session's error says why
  };

  // `limit` is the time for the answer of an ssh-agent. The references must outlive the object.
  SshLogin(boost::asio::io_context& io, const SshIdentities& identities, AuthGate& gate,
           std::chrono::milliseconds limit)
      : identities_(identities), gate_(gate), limit_(limit), watch_(io) {}

  // Waits for the gate; `passed` is called as AuthGate::enter() does. If it gets true, it calls
  // passed_gate() before offer_keys().
  void enter_gate(std::function<void(bool)> passed) { gate_.enter(std::move(passed)); }
  // Call it if the gate lets this session try.
  void passed_gate() { through_gate_ = true; }
  // Call it if the session ends. If it had passed the gate and was not accepted, the next session
  // tries.
  void leave_gate() {
    if (through_gate_ && !accepted_) gate_.left();
  }
  // Returns true if the gate is closed: no other session of this process was or will be accepted.
  bool gate_closed() const { return gate_.closed(); }

  // Offers the next keys, from files, until the server accepts one or packets must come first. Does
  // not block.
  Progress offer_keys(ssh_session_struct* session);
  // Starts the thread that asks the ssh-agent. No other function may touch the session until
  // `answered` is called. Returns false, with errno, if the thread cannot be watched.
  bool ask_agent(ssh_session_struct* session, std::function<void()> answered);
  // Returns the result of the ssh-agent: accepted, refused or failed. To be called once, from
  // `answered` or later.
  Progress agents_answer();
  // Stops waiting for the ssh-agent. Returns true if its thread still has the session; the thread
  // then frees it.
  bool let_go();

  // Returns the text of an error: the server `where` refuses `user`.
  std::string refusal(const std::string& where, const std::string& user) const;

 private:
  struct AgentTalk;
  // Turns a status of libssh (SSH_AUTH_...) into progress. Tells the gate of a final result.
  Progress answer(int code);

  const SshIdentities& identities_;
  AuthGate& gate_;
  const std::chrono::milliseconds limit_;
  boost::asio::posix::stream_descriptor watch_;
  std::shared_ptr<AgentTalk> talk_;
  std::size_t next_key_ = 0;
  bool through_gate_ = false;
  bool accepted_ = false;
};

}  // namespace scela::nla
