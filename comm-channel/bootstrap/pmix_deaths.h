// Which ranks have failed, as far as a launcher tells by PMIx events.
#pragma once

#include <string>

#include "comm-channel/bootstrap/pmix_library.h"

namespace scela::channel {

// Of this process's one job. libpmix calls from a thread of its own, and may do so as long as it is
// loaded: what it tells is kept for good. False: the server takes no handler, and nothing is told.
// Called once for each PMIx connection of the process.
bool listen_for_deaths(const PmixLibrary& library, const std::string& name_space);
bool is_listening_for_deaths();  // what listen_for_deaths() returned last
bool is_told_dead(int rank);

}  // namespace scela::channel
