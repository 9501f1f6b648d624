// The keys a process offers to ssh servers, and the gate that keeps a process whose keys are
// refused from being refused once per host. One thread; load() reads files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

struct ssh_key_struct;  // libssh's

namespace scela::nla {

// The keys that a process offers: read once, shared by its sessions.
class SshIdentities {
 public:
  // Private keys without a passphrase, each with its certificates: FILE-cert.pub and those of
  // `certificates` that are for it. What cannot be used is noted, not refused.
  void load(const std::vector<std::string>& files, const std::vector<std::string>& certificates);
  // The socket of an ssh-agent; empty: there is none. Its keys are offered, or it is only there to
  // be forwarded.
  void use_agent(std::string socket, bool offered) {
    agent_socket_ = std::move(socket);
    agent_offered_ = offered;
  }
  const std::string& agent_socket() const { return agent_socket_; }
  bool has_agent() const { return agent_offered_ && !agent_socket_.empty(); }
  bool empty() const;  // neither key nor agent
  // "~/.ssh/id_rsa: has a passphrase; ..."; empty if all went well.
  const std::string& skipped() const { return skipped_; }

  struct Key {
    std::shared_ptr<ssh_key_struct> key;
    std::string file;
  };
  const std::vector<Key>& keys() const { return keys_; }

 private:
  void add_certificate(const Key& key, const std::string& file);

  std::vector<Key> keys_;
  std::string skipped_;
  std::string agent_socket_;
  bool agent_offered_ = false;
};

// The files that ssh tries by default, in its order, below $HOME/.ssh; those that exist.
std::vector<std::string> default_identities();

// Who may not start agents should learn it once, not once per host: the first session of a process
// authenticates alone, the others wait for its answer (their key exchange goes on meanwhile).
class AuthGate {
 public:
  // `once`: an agent's; a refusal of the first closes the gate. Else it is always open.
  explicit AuthGate(bool once) : open_(!once) {}
  // Calls `go(true)` at once for the first, for others when the answer is known; go(false): do not
  // try.
  void enter(std::function<void(bool)> go);
  void answer(bool accepted);  // of a session that went through
  void left();                 // one that went through got no answer: the next tries
  bool closed() const { return closed_; }

 private:
  void release(bool go);
  bool open_;
  bool closed_ = false;
  bool trying_ = false;
  std::vector<std::function<void(bool)>> waiting_;
};

}  // namespace scela::nla
