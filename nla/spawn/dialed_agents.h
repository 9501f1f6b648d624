// Connects to agents that run already and wait for their parent, because a bulk starter has started
// all agents of the job (nla/dial/dial_hello.h). The spawner uses it on its loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "nla/spawn/factory.h"
#include "nla/spawn/spawner.h"

namespace scela::nla {

class DialedAgents {
 public:
  // The references are borrowed.
  DialedAgents(boost::asio::io_context& io, const SpawnContext& context)
      : io_(io), context_(context) {}

  // Connects to the agent of `contact`, for which Contact::waits is set, within `limit_ms`. Both
  // ends prove the key. `done` is called once, perhaps from within, with the link or the failure.
  void connect(const Contact& contact, SharedKey key, std::uint32_t limit_ms, Spawner::Done done);
  // Ends the attempt to connect to this node, if there is one. Its `done` is called with a failure,
  // from within.
  void cancel(const std::string& name);

 private:
  struct Attempt {
    std::unique_ptr<TlsAttempt> connection;
    Spawner::Done done;
  };

  boost::asio::io_context& io_;
  const SpawnContext& context_;
  std::map<std::string, Attempt> attempts_;  // by the name of the node
};

}  // namespace scela::nla
