// Authenticating at an ssh server: behind the gate that all sessions of a process share, with one
// key after the other, at last with those of an ssh-agent.
//
// Event loop, one thread; only the work of an ssh-agent is done in a thread of its own, because
// libssh speaks its protocol in blocking calls. libssh stays inside the .cpp file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/os/asio.h"
#include "nla/spawn/ssh_identities.h"

struct ssh_session_struct;  // libssh's

namespace scela::nla {

class SshLogin {
 public:
  enum class Progress {
    waiting,     // for the server: offer_keys() again when there is news
    asks_agent,  // ask_agent() is next
    accepted,
    refused,  // all that there is: refusal() says it
    failed    // the session's error says why
  };

  SshLogin(boost::asio::io_context& io, const SshIdentities& identities, AuthGate& gate,
           std::chrono::milliseconds limit)
      : identities_(identities), gate_(gate), limit_(limit), watch_(io) {}

  // `passed` as AuthGate::enter() calls it; with true it calls passed_gate() first.
  void enter_gate(std::function<void(bool)> passed) { gate_.enter(std::move(passed)); }
  void passed_gate() { through_gate_ = true; }
  // It ends without an answer that others could go by: the next one tries.
  void leave_gate() {
    if (through_gate_ && !accepted_) gate_.left();
  }
  // Nobody else of this process was or will be accepted.
  bool gate_closed() const { return gate_.closed(); }

  Progress offer_keys(ssh_session_struct* session);
  // Nothing else may touch the session until `answered` is called. False, with errno: it cannot be.
  bool ask_agent(ssh_session_struct* session, std::function<void()> answered);
  // What it has answered; once, from `answered` or later.
  Progress agents_answer();
  // Nobody waits for the ssh-agent any more. True: its thread has the session and frees it.
  bool let_go();

  // `where` and `user`: who refuses whom, for people.
  std::string refusal(const std::string& where, const std::string& user) const;

 private:
  struct AgentTalk;
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
