// The simulator of the LogGP model (Alexandrov et al., 1995): it computes when each rank is done.
// Tests use it. simulate() keeps no state, and any thread may call it.
//
// A message of k bytes costs the sender's processor `overhead`. Then its bytes leave the sender's
// port: (k - 1) x `gap_per_byte` pass from the first to the last. Each byte arrives `latency`
// later. The receiver's processor spends `overhead` when it waits for the message. At least `gap`
// passes between the last byte of a message and the first of the next, in each direction at each
// port.
//
// Ranks of one node have other figures with each other, and ports of their own for it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collectives/core/layout.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// The unit of time is the caller's choice; all figures use the same.
struct LogGP {
  double latency = 0;
  double overhead = 0;
  double gap = 0;
  double gap_per_byte = 0;
};

struct Machine {
  LogGP network;
  LogGP node;                                      // for messages within a node
  std::function<int(int rank)> node_of = nullptr;  // if empty, each rank has its own node
  double copy_per_byte = 0;
  double reduce_per_byte = 0;
};

// Returns the time at which each rank's list has come to its end, indexed by rank, if all begin at
// 0. `layouts` is as check() takes it; without layouts, a block has one byte. A wait for sends ends
// when the last byte has left. Messages are taken to be short, without a handshake; longer ones
// cost a latency more each way. The call fails for lists that Schedule refuses, and for lists that
// do not come to their ends.
Result<std::vector<double>> simulate(std::span<const TaskList> lists,
                                     std::span<const Layout> layouts, const Machine& machine);

}  // namespace scela::collectives
