#include "tests/unit/collectives/communicator/everyone.h"

#include <mutex>
#include <thread>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives::test {

std::string everyone(MemoryNetwork& network, const World& world, const Body& body) {
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      CommunicatorMaker maker;
      maker.transport = [&, rank] { return network.transport(rank); };
      maker.rank = rank;
      for (int other = 0; other < world.ranks; ++other)
        maker.nodes.push_back(other / world.per_node);
      maker.options.progress = world.progress;
      maker.options.table = world.table;
      maker.contexts = world.contexts;
      maker.environment = [&](const std::string& name) -> std::optional<std::string> {
        const auto found = world.environment.find(name);
        if (found == world.environment.end()) return std::nullopt;
        return found->second;
      };
      Communicator communicator = maker.make();
      std::string said = body(communicator);
      const std::lock_guard lock(mutex);
      if (wrong.empty() && !said.empty()) wrong = cat("rank ", rank, ": ", said);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return wrong;
}

std::string everyone(const World& world, const Body& body) {
  MemoryNetwork network(world.ranks, 11);
  network.deliver_in_waits();
  return everyone(network, world, body);
}

}  // namespace scela::collectives::test
