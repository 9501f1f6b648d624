// Encodes the messages of an agreement as bytes. All messages of a group have one length.
// collectives/communicator/agree.cpp uses it. The functions have no state, so any thread may call
// them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collectives/agreement/agreement.h"

namespace scela::collectives {

// Returns the length in bytes of each message of a group with `ranks` ranks.
std::size_t frame_bytes(int ranks);
// Returns the bytes of a message. Its word must be one of the group's number of ranks.
std::vector<std::byte> to_frame(const Agreement::Message& message);
// Returns the message in these bytes, or std::nullopt if they are no message of a group with
// `ranks` ranks.
std::optional<Agreement::Message> from_frame(std::span<const std::byte> bytes, int ranks);

}  // namespace scela::collectives
