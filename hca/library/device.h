// The one device, before and after it is opened.
#pragma once

#include "hca/core/messages.h"

namespace scela::hca::library {

inline constexpr char kDeviceName[] = "scela_hca0";

// What the engine says of this node, kept for questions that come without an open device.
void remember(const Device& device);

}  // namespace scela::hca::library
