// Spaces over a connection to a PMI-1 or PMI-2 server (pmi/client/connection.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/space.h"
#include "pmi/client/connection.h"

namespace scela::channel {

// These begin to use a connection on which the server has answered "cmd=init pmi_version=N ...".
// They block until the server has answered further questions. `by` says how the server was found,
// for errors.
Result<std::unique_ptr<Space>> begin_pmi1(pmi::client::Connection connection, std::string by);
Result<std::unique_ptr<Space>> begin_pmi2(pmi::client::Connection connection, std::string by);

// Reads PMI_process_mapping. Returns a name for each rank's node, or an empty list if the mapping
// is empty or does not cover all ranks.
std::vector<std::string> node_names_of(std::string_view mapping, int size);

// Returns the text as one line or message of a server's protocol may have it, without control
// characters.
std::string one_line(std::string_view text);

// Returns an error of the protocol. `what` was tried, `why` it failed, and `hint` says what to do.
Error pmi_error(std::string what, std::string why, std::string hint);

}  // namespace scela::channel
