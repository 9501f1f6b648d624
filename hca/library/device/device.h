// The library's one device, before and after a program opens it. Any thread may call.
#pragma once

#include "hca/core/wire/messages.h"

namespace scela::hca::library {

inline constexpr char kDeviceName[] = "scela_hca0";

// Keeps the engine's description of this node for questions that come without an open device. After
// remember(Device{}), the library asks the engine again.
void remember(const Device& device);

}  // namespace scela::hca::library
