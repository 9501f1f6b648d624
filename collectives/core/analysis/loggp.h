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

#include "collectives/core/block_layout.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// The parameters of the model. The unit of time is the caller's choice; all figures use the same.
struct LogGP {
  double latency = 0;       // of a byte on the wire
  double overhead = 0;      // of a processor, for each message end
  double gap = 0;           // least time between two messages
  double gap_per_byte = 0;  // between two bytes of a message
};

// The ranks' nodes, and the costs of messages and of local work.
struct Machine {
  LogGP network;                                   // for messages between nodes
  LogGP node;                                      // for messages within a node
  std::function<int(int rank)> node_of = nullptr;  // if empty, each rank has its own node
  double copy_per_byte = 0;                        // time of a copy task
  double reduce_per_byte = 0;                      // time of a reduce task
};

// Returns, by rank, the time at which its list has come to its end, if all begin at 0. `lists` has
// the list of each rank, and `layouts` is as check() (checker.h) takes it; without layouts, a block
// has one byte. A wait for sends ends when the last byte has left. Messages are taken to be short,
// without a handshake; longer ones cost a latency more each way. Returns an error for lists that
// Schedule refuses, and for lists that do not come to their ends.
Result<std::vector<double>> simulate(std::span<const TaskList> lists,
                                     std::span<const Layout> layouts, const Machine& machine);

}  // namespace scela::collectives
