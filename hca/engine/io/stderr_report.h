// Writes lines to the engine's standard error, for the process that started it. Any thread may
// call.
#pragma once

#include <unistd.h>

#include <string>

#include "common/core/text.h"

namespace scela::hca {

// Writes "scela-hca: " and the text as one line.
inline void report(const std::string& text) {
  const std::string line = cat("scela-hca: ", text, "\n");
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

}  // namespace scela::hca
