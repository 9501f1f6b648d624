// Requests of calls that were refused before they had a state, and the error of an empty
// communicator. Communicators make them. A request
// belongs to the thread that uses its communicator.
#pragma once

#include "comm-channel/include/scela/request.h"

namespace scela::collectives {

// Returns the error of calls of an empty communicator.
const Status& error_of_empty();
// Returns a request that is complete with this error, which its start() returns as well. Throws
// std::bad_alloc if there is no memory for it.
Request refused_request(Status why);

}  // namespace scela::collectives
