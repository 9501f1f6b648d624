// What errors say was tried, and with whom.
#pragma once

#include "comm-channel/include/scela/errors.h"
#include "comm-channel/operation.h"

namespace scela::channel {

// "receive from rank 3 with tag 5", "probe any rank with any tag"
std::string tried_to(const char* what, const Pattern& pattern);

// "send 8 bytes to rank 3 with tag 5: the time is over", of what this process has begun.
ChannelError error_with(Code code, const Operation& operation);
ChannelError error_with(Code code, int peer, const std::string& tried);
// What a child process (fork) gets that uses its parent's channel.
const ChannelError& error_of_child();

}  // namespace scela::channel
