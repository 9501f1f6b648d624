// What a communicator needs for its messages (messages.cpp). It does not change once it is made, so
// any thread may use it.
#pragma once

#include <memory>

#include "comm-channel/include/rank_group.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::collectives {

struct MessageGroup {
  // Null over another library, whose messages are not the communicator's.
  std::shared_ptr<Channel> channel;
  std::shared_ptr<channel::RankGroup> ranks;  // set if `channel` is
  int own = 0;                                // this rank
  Context context = kWorld;                   // of the messages
};

}  // namespace scela::collectives
