// Runs ranks as threads. Each has a communicator over messages in memory.
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
  ProgressMode progress = ProgressMode::polled;
  int per_node = 2;
  std::string table = {};
  std::map<std::string, std::string> environment = {};
  std::uint32_t contexts = kContextsOfOne;
};

// Returns what is wrong on this rank; empty if nothing is.
using Body = std::function<std::string(Communicator& world)>;
// Runs the body on every rank. Returns the first error that a rank reports, with the rank's number;
// empty if there is none.
std::string everyone(const World& world, const Body& body);
// Does so over a network that the test provides.
std::string everyone(MemoryNetwork& network, const World& world, const Body& body);

inline constexpr ProgressMode kAllProgressModes[] = {ProgressMode::at_once, ProgressMode::polled,
                                                     ProgressMode::thread};

}  // namespace scela::collectives::test
