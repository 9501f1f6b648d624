// scela-leaf: the agent of one node that starts no others, without ssh and TLS: a quarter of the
// size of scela-nla. It is only sent, and is scela-nla on the node (nla/pack/package_format.h).

#include <unistd.h>

#include <cstdlib>

#include "nla/process/agent_program.h"

// The text that libstdc++ would print of an exception brings its demangler along, 50 kB.
// NOLINTBEGIN(readability-identifier-naming): the name is that of libstdc++.
namespace __gnu_cxx {
void __verbose_terminate_handler();
void __verbose_terminate_handler() {
  constexpr char kText[] = "scela-nla: an exception was thrown: memory or a limit is exhausted\n";
  [[maybe_unused]] const auto done = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  std::abort();
}
}  // namespace __gnu_cxx
// NOLINTEND(readability-identifier-naming)

int main(int argc, char** argv) {
  return scela::nla::run_agent_program(argc, argv, nullptr);
}
