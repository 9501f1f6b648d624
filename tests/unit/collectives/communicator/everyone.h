// Ranks as threads, each with its communicator over messages in memory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collectives/communicator/maker.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test {

struct World {
  int ranks = 1;
  RunBy run_by = RunBy::polled;
  int per_node = 2;
  std::string table = {};
  std::map<std::string, std::string> environment = {};
  std::uint32_t contexts = kContextsOfOne;
};

// What a rank says is wrong; empty: nothing.
using Body = std::function<std::string(Communicator& world)>;
// Runs it on every rank; what the first of them said.
std::string everyone(const World& world, const Body& body);
// The same, over a network of the test's own.
std::string everyone(MemoryNetwork& network, const World& world, const Body& body);

inline constexpr RunBy kAllRunBy[] = {RunBy::at_once, RunBy::polled, RunBy::thread};

}  // namespace scela::collectives::test
