// Which scela-hca the tests start.
#pragma once

#include <cstdlib>

namespace scela::test {

// SCELA_TEST_HCA in the environment (tests/support/run_as.py), else that of the build tree.
inline const char* engine_program() {
  const char* const other = std::getenv("SCELA_TEST_HCA");
  return other != nullptr ? other : SCELA_HCA_PATH;
}

}  // namespace scela::test
