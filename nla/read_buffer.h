// Scratch space for reading, one per event loop: its content means nothing between two calls.
#pragma once

#include "nla/constants.h"

namespace scela::nla {

struct ReadBuffer {
  char bytes[kReadBuffer];
};

}  // namespace scela::nla
