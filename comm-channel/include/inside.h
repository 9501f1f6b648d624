// What the rest of libscela uses of a channel, beside its public interface. It is not installed.
#pragma once

#include <memory>

#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

struct Inside {
  // The same channel, which lasts as long as this. Once the program has closed its own, what is
  // begun by this ends with Code::closed.
  static std::unique_ptr<Channel> share(Channel& channel);
  // Something that the channel keeps for its user until nothing of the channel is left; null until
  // it was set. Under no lock.
  static std::shared_ptr<void>& kept_for(Channel& channel);
  // The program has closed it, or is about to.
  static bool is_closed(const Channel& channel);
  // As Request::test(), but it moves nothing.
  static bool is_complete(const Request& request);
};

}  // namespace scela::channel
