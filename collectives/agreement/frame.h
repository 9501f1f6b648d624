// Messages of an agreement as bytes: all of a group are of one length.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collectives/agreement/agreement.h"

namespace scela::collectives {

std::size_t frame_bytes(int ranks);
std::vector<std::byte> to_frame(const Agreement::Message& message);
// Nothing: it is none.
std::optional<Agreement::Message> from_frame(std::span<const std::byte> bytes, int ranks);

}  // namespace scela::collectives
