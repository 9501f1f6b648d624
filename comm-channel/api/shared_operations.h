// Operations that are complete for ever, which stand behind many requests at once. They are never
// destroyed, since requests may outlive their channel and everything else. Any thread may use them.
#pragma once

#include "comm-channel/engine/operation.h"

namespace scela::channel {

// A send that was complete at once.
Operation& sent_at_once();
// The operation of a child process (fork) that uses its parent's channel.
Operation& of_child();
// Returns what stands behind a request of one of these operations after its wait() has returned, so
// that waits for any request pass it over.
Operation& after_wait(const Operation& shared_one);

}  // namespace scela::channel
