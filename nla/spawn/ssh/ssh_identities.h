// The keys that a process offers to ssh servers, and the gate that keeps a process with refused
// keys from being refused once per host. The spawner's sessions use both. One thread; load() reads
// files.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct ssh_key_struct;  // libssh's

namespace scela::nla {

// The keys that a process offers. They are read once and shared by its sessions.
class SshIdentities {
 public:
  // Loads private keys without a passphrase, each with its certificates: FILE-cert.pub, and those
  // of `certificates` that are for it. Both lists are paths. A file that cannot be used is noted in
  // skipped(), and is no error.
  void load(const std::vector<std::string>& files, const std::vector<std::string>& certificates);
  // Sets the socket of an ssh-agent; an empty one means that there is none. If `offered` is false,
  // the ssh-agent's keys are not offered, and it can only be forwarded.
  void use_agent(std::string socket, bool offered) {
    agent_socket_ = std::move(socket);
    agent_offered_ = offered;
  }
  // Returns the path of the ssh-agent's socket; empty: there is none.
  const std::string& agent_socket() const { return agent_socket_; }
  // Returns true if keys of an ssh-agent are offered.
  bool has_agent() const { return agent_offered_ && !agent_socket_.empty(); }
  // Returns true if there is neither a key nor an ssh-agent to offer.
  bool empty() const;
  // Returns the files that load() could not use, with reasons: "~/.ssh/id_rsa: has a passphrase;
  // ...". It is empty if all files were used.
  const std::string& skipped() const { return skipped_; }

  // A key and the file that it comes from. A certificate is a key of its own.
  struct Key {
    std::shared_ptr<ssh_key_struct> key;
    std::string file;
  };
  // Returns the keys in the order in which they are offered.
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

}  // namespace scela::nla
