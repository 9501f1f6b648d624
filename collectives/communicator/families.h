// Contexts for the communicators that are made over one channel (Communicator::over): each has a
// family of them, for itself and for all that come of it.
//
// As long as there are contexts that no family has had, all ranks take the next ones, without a
// word. Then those come again which families have given back on all ranks; which these are, the
// ranks agree on, once for as many as there are. Such a family's contexts begin a new life, so that
// nothing of the one before is taken for its own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::collectives {

class Families {
 public:
  struct Family {
    CollectiveError error;  // none: the rest holds
    std::size_t place = 0;
    std::uint32_t first_context = 0;
    std::uint32_t life = 0;
  };

  // The channel's own; it lasts as long as the channel is used.
  static std::shared_ptr<Families> of(channel::Channel& channel);

  // All ranks of the channel call it, as often as each other. May block until they do. Any thread,
  // one at a time.
  Family take(channel::Channel& channel);
  // Nothing of it is used by this rank any more. `life_after`: a life that none of its
  // communicators has had. Any thread.
  void give_back(channel::Channel& channel, const Family& family, std::uint32_t life_after);

 private:
  CollectiveError agree(channel::Channel& channel);

  std::mutex taking_;  // over mutex_
  std::mutex mutex_;
  std::vector<std::uint32_t> first_contexts_;  // by place, in the order in which they were reserved
  std::vector<bool> free_;                     // by place: this rank has given it back
  std::uint32_t life_ = 0;                     // none of what was given back has had it
  std::deque<std::size_t> agreed_;             // free on all ranks
  std::uint32_t agreed_life_ = 0;
  std::uint32_t agreements_ = 0;
};

}  // namespace scela::collectives
