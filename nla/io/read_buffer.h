// Scratch space for reading, one per event loop. Its content means nothing between two calls. Links
// and ranks read into it, all in the thread of the loop.
#pragma once

#include "nla/io/constants.h"

namespace scela::nla {

// The space of one loop, kReadBuffer bytes.
struct ReadBuffer {
  char bytes[kReadBuffer];
};

}  // namespace scela::nla
