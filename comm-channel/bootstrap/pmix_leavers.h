// Whether ranks have ended, also well, as scela-pmix says that is asked: of such ends it tells by
// no event.
#pragma once

#include "comm-channel/bootstrap/pmix_library.h"

namespace scela::channel {

// Asks, unless a question about that rank is under way, and does not wait for the answer: true once
// the rank is known to have ended.
bool has_left_by_now(const PmixLibrary& library, const pmix_proc_t& rank);

}  // namespace scela::channel
