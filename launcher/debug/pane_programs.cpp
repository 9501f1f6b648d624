#include "launcher/debug/pane_programs.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>

#include "common/os/fd.h"
#include "common/os/syscall.h"

extern char** environ;

namespace scela {

tl::expected<int, ChildError> run_pane_program(const std::string& program,
                                               std::vector<std::string> words,
                                               std::vector<int> descriptors, ChildGroup group) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::ranges::replace(descriptors, kNoStream, null.get());
  const std::vector<char*> argv = argv_of(words);
  ChildSpec spec;
  spec.program = program.c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.group = group;
  const auto pid = start_child(spec);
  if (!pid) return tl::unexpected(pid.error());
  int status = 0;
  retry([&] { return ::waitpid(*pid, &status, 0); });
  return status;
}

}  // namespace scela
