// The keys that a process offers to ssh servers, and the gate that keeps a process with refused
// keys from being refused once per host. The spawner's sessions use both. One thread; load() reads
// files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

struct ssh_key_struct;  // libssh's

namespace scela::nla {

// The keys that a process offers. They are read once and shared by its sessions.
class SshIdentities {
 public:
  // Loads private keys without a passphrase, each with its certificates: FILE-cert.pub, and those
  // of `certificates` that are for it. A file that cannot be used is noted, and is no error.
  void load(const std::vector<std::string>& files, const std::vector<std::string>& certificates);
  // Sets the socket of an ssh-agent; an empty one means that there is none. If `offered` is false,
  // the ssh-agent's keys are not offered, and it can only be forwarded.
  void use_agent(std::string socket, bool offered) {
    agent_socket_ = std::move(socket);
    agent_offered_ = offered;
  }
  const std::string& agent_socket() const { return agent_socket_; }
  bool has_agent() const { return agent_offered_ && !agent_socket_.empty(); }
  bool empty() const;  // neither key nor agent
  // "~/.ssh/id_rsa: has a passphrase; ..."; empty if all files were used.
  const std::string& skipped() const { return skipped_; }

  struct Key {
    std::shared_ptr<ssh_key_struct> key;
    std::string file;
  };
  const std::vector<Key>& keys() const { return keys_; }

 private:
  // Adds the certificate in `file` as a further key, if it is for this one.
  void add_certificate(const Key& key, const std::string& file);

  std::vector<Key> keys_;
  std::string skipped_;
  std::string agent_socket_;
  bool agent_offered_ = false;
};

// Returns the files below $HOME/.ssh that ssh tries by default and that exist, in the order to try
// them.
std::vector<std::string> default_identities();

// A process that may not start agents should learn it once, not once per host. So the first session
// of a process authenticates alone. The others wait for its result, while their key exchange goes
// on.
class AuthGate {
 public:
  // `once` is true for an agent: if its first session is refused, the gate closes. Otherwise the
  // gate is always open.
  explicit AuthGate(bool once) : open_(!once) {}
  // Calls `go(true)` at once for the first session, and for others when the result is known.
  // `go(false)` says that the session must not try.
  void enter(std::function<void(bool)> go);
  void answer(bool accepted);  // result of a session that went through
  void left();                 // it got no answer: the next one tries
  bool closed() const { return closed_; }

 private:
  // Calls all waiting sessions.
  void release(bool go);
  bool open_;
  bool closed_ = false;
  bool trying_ = false;  // a session authenticates
  std::vector<std::function<void(bool)>> waiting_;
};

}  // namespace scela::nla
