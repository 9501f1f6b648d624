// What whoever started the engine reads: lines on its standard error.
#pragma once

#include <unistd.h>

#include <string>

#include "common/core/text.h"

namespace scela::hca {

inline void report(const std::string& text) {
  const std::string line = cat("scela-hca: ", text, "\n");
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

}  // namespace scela::hca
