// Makes the failures of several hosts comparable. hosts_report.cpp folds hosts with it. The
// function is pure and may be called from any thread.
#pragma once

#include <string>
#include <string_view>

namespace scela {

// Returns a text about a host without what is that host's own: its name is HOST, an IP address is
// ADDRESS, and the fingerprint of a key is SHA256:... . Two hosts with one cause then have one
// text. `host` is the host as the user wrote it; "user@" and ":port" may be missing in the text.
std::string general_text(std::string_view text, std::string_view host);

}  // namespace scela
