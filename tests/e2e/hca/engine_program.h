// The scela-hca program that the tests start.
#pragma once

#include <cstdlib>

namespace scela::test {

// Returns SCELA_TEST_HCA of the environment (tests/support/run_as.py), or else the program of the
// build tree.
inline const char* engine_program() {
  const char* const other = std::getenv("SCELA_TEST_HCA");
  return other != nullptr ? other : SCELA_HCA_PATH;
}

}  // namespace scela::test
