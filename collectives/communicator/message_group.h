// The channel, the ranks and the context of a communicator's messages (messages.cpp). They do not
// change once they are made, so any thread may use them.
#pragma once

#include <atomic>
#include <memory>

#include "comm-channel/include/rank_group.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::collectives {

struct MessageGroup {
  // Null over another library: the communicator has no messages then.
  std::shared_ptr<Channel> channel;
  std::shared_ptr<channel::RankGroup> ranks;  // set if `channel` is
  const std::atomic<bool>* closed = nullptr;  // likewise: the program has closed it
  int size = 0;                               // ranks of the communicator
  int own = 0;                                // this rank
  bool is_whole = true;                       // that of `ranks`
  Context context = kWorld;                   // of the messages
};

}  // namespace scela::collectives
