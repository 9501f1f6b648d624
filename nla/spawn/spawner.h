// Starting the agents of other nodes.
//
// A spawner makes a process on the node and a stream to it; who the agent is, it learns over the
// stream. Whoever owns the spawner reaps the process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "nla/core/messages.h"
#include "nla/link/transport.h"

namespace scela::nla {

struct StartedAgent {
  std::unique_ptr<Transport> stream;  // the link to it
  pid_t pid = 0;  // of the child that stands for it: once that has ended and the stream is closed,
                  // nothing is left of the node
};

struct SpawnFailure {
  StartPhase phase = StartPhase::start_agent;
  std::string why;
};

class Spawner {
 public:
  virtual ~Spawner() = default;
  // `done` is called exactly once, perhaps from within.
  virtual void start(const std::string& node,
                     std::function<void(tl::expected<StartedAgent, SpawnFailure>)> done) = 0;
};

}  // namespace scela::nla
