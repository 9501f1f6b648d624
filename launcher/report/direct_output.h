// Writes text of scela-run itself to its standard streams while no job runs: answers, warnings and
// errors. During a job the session's writers do it (launcher/io). The functions block until the
// reader has taken the text.
#pragma once

#include <string_view>

#include "common/core/error.h"

namespace scela {

// Writes all of `text` to the descriptor. Returns false if a write fails: a failure to write cannot
// be reported either.
bool print(int fd, std::string_view text);

// Writes the error to standard error, and returns its exit status. The text may have words of files
// and of the standard input, which a terminal must not obey.
int complain(const Error& error);

// Writes the text to standard output. Returns the exit status.
int answer(std::string_view text);

}  // namespace scela
