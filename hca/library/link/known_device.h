// The engine's description of this node's device, kept for questions about the device that come
// while it is not open. Any thread may call.
#pragma once

#include <cstdint>

#include "hca/core/wire/engine_messages.h"

namespace scela::hca::library {

// Keeps the description. After remember(Device{}), nothing is known until the engine is asked
// again.
void remember(const Device& device);
// Returns the GUID of the device, or 0 if it is not known.
std::uint64_t known_guid();

}  // namespace scela::hca::library
