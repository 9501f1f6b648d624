// Texts of errors: what was tried, and with which rank.
#pragma once

#include "comm-channel/engine/operation.h"
#include "comm-channel/include/scela/errors.h"

namespace scela::channel {

// Returns for example "receive from rank 3 with tag 5" or "probe any rank with any tag".
std::string tried_to(const char* what, const Pattern& pattern);

// Returns for example "send 8 bytes to rank 3 with tag 5: the time is over", for an operation that
// this process has begun.
ChannelError error_with(Code code, const Operation& operation);
// Does so for any text; `tried` is for example that of tried_to(). `peer` is -1 if no rank is
// concerned.
ChannelError error_with(Code code, int peer, const std::string& tried);
// The error of a child process (fork) that uses the channel of its parent.
const ChannelError& error_of_child();

}  // namespace scela::channel
