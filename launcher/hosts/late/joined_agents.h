// The agents that join a job by themselves (--listen, scela-nla --join), where nothing can start
// agents: they connect in any order, and prove the job's key (nla/dial/join_words.h). Each of them
// is a host of the job. launcher/hosts/host_discovery.cpp waits for them, and
// launcher/hosts/host_contacts.cpp passes on how they are reached.
//
// The connections stay open for as long as this object: an agent ends if its own is closed. All
// functions block, and belong to the main thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {

// The input of JoinedAgents::listen().
struct JoinSettings {
  std::string place;     // of --listen: PORT, ADDRESS:PORT, or [ADDRESS]:PORT
  std::string key_file;  // --key-file
  std::string agent;     // path of scela-nla here; those that join must be of its build
  std::function<void(const std::string& line)> tell;  // lines for the user, without newline
};

class JoinedAgents {
 public:
  // Listens, with a new secret. Returns an error (kind usage) if the key cannot be used or the
  // address is malformed, and (kind launch) if the system refuses to listen there.
  static Result<std::unique_ptr<JoinedAgents>> listen(const JoinSettings& settings);
  ~JoinedAgents();
  JoinedAgents(const JoinedAgents&) = delete;
  JoinedAgents& operator=(const JoinedAgents&) = delete;

  // Takes agents for this long, or until one has joined or has gone.
  void serve(std::chrono::milliseconds limit);
  // Takes no further agents.
  void stop_listening();
  // Returns the hosts with an agent, by name.
  std::vector<HostEntry> hosts() const;
  // Returns the contact (nla/core/wire/contact.h) of the host's agent, or std::nullopt if it has
  // none.
  std::optional<std::string> contact(const std::string& host) const;
  // Returns the secret with which parents connect to the agents.
  const std::string& secret() const;

 private:
  struct State;
  explicit JoinedAgents(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scela
