// Asks scela-pmix whether ranks have ended, also well: no event tells of such ends.
#pragma once

#include "comm-channel/bootstrap/pmix_library.h"

namespace scela::channel {

// Asks, unless a question about that rank is under way, and does not wait for the answer. Returns
// true once the rank is known to have ended.
bool has_left_by_now(const PmixLibrary& library, const pmix_proc_t& rank);

}  // namespace scela::channel
