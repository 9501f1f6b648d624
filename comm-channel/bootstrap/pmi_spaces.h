// Spaces over a connection to a server of PMI-1 or PMI-2 (pmi/client/connection.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/space.h"
#include "pmi/client/connection.h"

namespace scela::channel {

// The first answer of the server is what both begin with: "cmd=init pmi_version=N ...".
// `by`: how the server was found, for errors.
Result<std::unique_ptr<Space>> begin_pmi1(pmi::client::Connection connection, std::string by);
Result<std::unique_ptr<Space>> begin_pmi2(pmi::client::Connection connection, std::string by);

// What PMI_process_mapping says: a name for each rank's node; none: nothing, or less than all
// ranks.
std::vector<std::string> node_names_of(std::string_view mapping, int size);

// Words that one line, or message, of a server's protocol can be: no control characters.
std::string one_line(std::string_view text);

Error pmi_error(std::string what, std::string why, std::string hint);

}  // namespace scela::channel
