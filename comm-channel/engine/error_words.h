// Texts of errors: what was tried, and with which rank.
#pragma once

#include <string>

#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/include/scela/status.h"
#include "common/core/error.h"

namespace scela::channel {

// Returns for example "receive from rank 3 with tag 5" or "probe any rank with any tag".
std::string tried_to(const char* what, const Pattern& pattern);

// Returns for example "send 8 bytes to rank 3 with tag 5". Another thread may move the operation
// meanwhile.
std::string what_of(const Operation& operation);

// Returns for example "send 8 bytes to rank 3 with tag 5: timed out", for an operation that
// this process has begun.
Status error_with(Code code, const Operation& operation);
// Does so for any text; `tried` is for example that of tried_to(). `peer` is -1 if no rank is
// concerned.
Status error_with(Code code, int peer, const std::string& tried);
// Does so for a text that says everything.
Status error_of(Code code, int peer, std::string text);

// Returns the error of a request that was not complete when its channel was closed.
Status error_of_closing();
// Returns the error of a send to a rank that closed its channel before it received the message.
Status error_not_received(int rank);
// Returns the error of a receive from any rank: all others have ended.
Status error_of_solitude();
// Returns the error of a send to the rank that gets no number (PendingTransfers), since too many
// operations have one.
Status error_of_numbers(int rank);

// Returns the error of an operation that has a buffer which is unmapped, or may not be written.
// `tried` is for example "read from byte 0 on".
Error buffer_gone(std::string tried);
// Returns the code for the user of a transfer that failed. A buffer that is unmapped is the
// program's fault, even if something else failed as well: the result is then Code::bad_buffer, else
// `otherwise`.
Code code_for(const Error& why, Code otherwise);
// Returns the code for the user of a transfer with this result. `on_node` says that both sides are
// on one node. No adapter can have failed there, so a buffer of either side is unmapped.
Code code_for(Outcome outcome, bool on_node);

// Returns the error of a child process (fork) that uses the channel of its parent. It is in static
// memory.
const Status& error_of_child();

}  // namespace scela::channel
