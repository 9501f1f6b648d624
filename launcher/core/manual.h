// The parts of scela-run(1) that the code knows best, in roff: the option table and the exit table.
//
// A page's source text (man/*.in) is prose with placeholders that stand alone on a line; everything
// that has a table in the code is written from it, so that page and program cannot drift apart.
// Values only.
#pragma once

#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

std::string options_roff();      // .SS per group, .TP per option
std::string exit_status_roff();  // .TP per row of exit_table()
std::string variables_roff();    // the SCELA_* variables, one a line, as one sentence's list

// Replaces @OPTIONS@, @EXIT_STATUS@, @VARIABLES@ and @VERSION@. An error names a placeholder it
// does not know.
Result<std::string> render_page(std::string_view source, std::string_view version);

}  // namespace scela
