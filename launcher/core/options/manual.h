// Generates the parts of scela-run(1) that have a table in the code, in roff: the options and the
// exit status. The build uses it to make the manual pages.
//
// The source of a page (man/*.in) is prose with placeholders, each alone on a line (@VERSION@ may
// be anywhere). Text that has a table in the code is generated, so that page and program cannot
// differ. All functions are pure.
#pragma once

#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

// Returns the section of all options: .SS per group, .TP per option.
std::string options_roff();
// Returns the exit statuses: .TP per row of exit_table().
std::string exit_status_roff();
// Returns the names of the SCELA_* variables with which a user can set options.
std::string variables_roff();

// Returns the page: `source` with @OPTIONS@, @EXIT_STATUS@, @VARIABLES@ and @VERSION@ replaced.
// `version` is the text for @VERSION@. Returns an error that names an unknown placeholder.
Result<std::string> render_page(std::string_view source, std::string_view version);

}  // namespace scela
