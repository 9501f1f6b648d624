// What a process has used, told to whoever has started it: scela-run --stats names a file
// (SCELA_ACCOUNTS), and the channel adds a line to it when it ends.
#pragma once

#include <span>
#include <string>

#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

// channel {"connections":2,...,"peers":{"5":{"messages_sent":1,...},...}}: with the peers that most
// bytes went to or came from, as many as the launcher takes. `peers`: by rank.
std::string account_text(const Accounts& accounts, std::span<const PeerAccounts> peers);

// Nothing where nobody asks. What cannot be written is seen by its lack: the launcher says how many
// ranks have told.
void leave_account(const Accounts& accounts, std::span<const PeerAccounts> peers);

}  // namespace scela::channel
