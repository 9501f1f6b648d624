// Tells which ranks have failed, as far as a launcher reports it by PMIx events.
#pragma once

#include <string>

#include "comm-channel/bootstrap/pmix_library.h"

namespace scela::channel {

// Registers for the PMIx events of this process's one job, the namespace `name_space`. It is called
// once for each connection. libpmix calls from its own thread for as long as it is loaded. So the
// record is kept for good. Returns false if the server takes no handler; nothing is reported then.
bool listen_for_deaths(const PmixLibrary& library, const std::string& name_space);
bool is_listening_for_deaths();  // what listen_for_deaths() returned
// Returns whether an event has said that this rank of the job has failed. Any thread may call it.
bool is_told_dead(int rank);

}  // namespace scela::channel
