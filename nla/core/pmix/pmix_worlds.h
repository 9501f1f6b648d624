// Sends the worlds of the job (nla/core/wire/job.h) to the node's PMIx server. A world is the ranks
// of the command, or those of one spawn; it is a namespace of the server. Worlds are sent in order,
// before any of their ranks starts here. The server answers with the environment of each of the
// world's ranks on this node, and then with Ready: the world is ready.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/wire/job.h"
#include "pmix/core/pmix_messages.h"

namespace scela::nla {

class PmixWorlds {
 public:
  // `job` is borrowed: it must outlive the object, and may grow. `node` is this node's number.
  // `tell` sends a message to the server.
  PmixWorlds(const Job& job, std::uint32_t node, std::function<void(pmix::Message)> tell)
      : job_(job), node_(node), tell_(std::move(tell)) {}

  // Sends the server the worlds that it does not know yet.
  void tell_new();
  // Handle a message of this node's server. Return false if it breaks the protocol: no world waits
  // for it, it names a rank of no such world, or environments are missing.
  bool receive(pmix::msg::Environment& message);
  // Takes the server's message that it is ready for the next world. Returns false if it was sent no
  // world, or has not given all environments.
  bool receive(pmix::msg::Ready& message);

  // Returns the number of worlds, from the first on, that are ready.
  std::size_t ready() const { return ready_; }
  // Returns true if a world that was sent to the server is not ready yet.
  bool is_any_awaited() const { return !awaited_.empty(); }
  // Returns the variables (K=V) that the server wants the rank to have. They are complete once the
  // rank's world is ready.
  const std::vector<std::string>& environment(Rank rank) const;

 private:
  // Returns the message about the world with this number, from 0.
  pmix::msg::World describe(std::size_t number) const;

  const Job& job_;
  const std::uint32_t node_;
  std::function<void(pmix::Message)> tell_;
  // For each world that is not ready: this node's ranks with an environment that is to come.
  std::deque<RankSet> awaited_;
  std::size_t ready_ = 0;
  std::map<Rank, std::vector<std::string>> environments_;
};

}  // namespace scela::nla
