#include "comm-channel/engine/error_words.h"

#include <utility>

#include "common/core/text.h"

namespace scela::channel {

std::string tried_to(const char* what, const Pattern& pattern) {
  return cat(what, ' ', pattern.source == kAny ? "any rank" : cat("rank ", pattern.source),
             " with ", pattern.tag == kAny ? "any tag" : cat("tag ", pattern.tag));
}

ChannelError error_with(Code code, int peer, const std::string& tried) {
  return {code, peer, std::make_shared<const std::string>(cat(tried, ": ", name_of(code)))};
}

// Uses only members that stay the same while the operation lasts: another thread may be moving it.
ChannelError error_with(Code code, const Operation& operation) {
  if (operation.is_send)
    return error_with(code, operation.peer,
                      cat("send ", operation.length, " bytes to rank ", operation.peer,
                          " with tag ", operation.tag));
  return error_with(code, operation.pattern.source, tried_to("receive from", operation.pattern));
}

const ChannelError& error_of_child() {
  static const ChannelError& error = *new ChannelError{
      Code::closed, -1,
      std::make_shared<const std::string>(
          "use a channel of the parent process: a child (fork) has no part in it, and nothing was "
          "sent or received; let the parent communicate, or start the child by the launcher")};
  return error;
}

}  // namespace scela::channel
