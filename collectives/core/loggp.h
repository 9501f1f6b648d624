// When each rank is done, by the LogGP model (Alexandrov et al., 1995), which has for a message of
// k bytes: `overhead` of the sender's processor, then the message's k bytes leave its port, (k - 1)
// x `gap_per_byte` from the first to the last; each arrives `latency` later; then `overhead` of the
// receiver's processor, which it spends when it waits for the message. Between the last byte of a
// message and the first of the next there is at least `gap`, in each direction at each port.
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

// In any unit of time, the same for all.
struct LogGP {
  double latency = 0;
  double overhead = 0;
  double gap = 0;
  double gap_per_byte = 0;
};

struct Machine {
  LogGP network;
  LogGP node;                                      // between ranks of one node
  std::function<int(int rank)> node_of = nullptr;  // without: one rank a node
  double copy_per_byte = 0;
  double reduce_per_byte = 0;
};

// By rank: when its list has come to its end, if all begin at 0. `layouts`: as check() takes them;
// without, a block has one byte. A wait for sends ends when the last byte has left: messages are
// taken to be short, without a handshake (longer ones cost a latency more each way). Fails for
// lists that Schedule refuses.
Result<std::vector<double>> simulate(std::span<const TaskList> lists,
                                     std::span<const Layout> layouts, const Machine& machine);

}  // namespace scela::collectives
