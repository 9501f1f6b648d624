// The ranks of other nodes that this process waits for and is not connected to, so that no
// connection would show their end. The messenger asks the launcher about them
// (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <vector>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/peers.h"

namespace scela::channel {

class AwaitedRanks {
 public:
  // The references must outlive this object.
  AwaitedRanks(const Peers& peers, const Matcher& matcher) : peers_(peers), matcher_(matcher) {}

  // Notes that the caller probed for a message of the rank and found none; -1: of any rank.
  void probed_in_vain(int rank) { probed_ = rank; }
  // Returns at most 32 of the ranks that receives and that probe wait for, if `network` has no
  // connection to them. The next call goes on behind the ranks that this one looked
  // at.
  std::vector<int> next_unconnected(const NetworkPeers& network);

 private:
  const Peers& peers_;
  const Matcher& matcher_;
  int probed_ = -1;            // the last one probed for in vain
  std::size_t looked_at_ = 0;  // the last rank that a call looked at
};

}  // namespace scela::channel
