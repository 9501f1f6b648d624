#include "nla/ranks/tool_daemons.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"

namespace scela::nla {

std::string ToolDaemons::start(std::vector<std::string> words, std::vector<std::string> environment,
                               const std::string& directory) {
  if (words.empty()) return "no program is named";
  constexpr std::string_view kPath = "PATH=";
  const auto path = std::ranges::find_if(
      environment, [&](const std::string& one) { return one.starts_with(kPath); });
  const std::string search(
      path == environment.end() ? kUsualPath : std::string_view(*path).substr(kPath.size()));
  const auto program = find_program(words.front(), search, directory);
  if (!program) return cat("find '", words.front(), "': ", errno_text(program.error()));
  const auto null = open_file("/dev/null", O_RDWR);
  if (!null) return null.error().text();
  const int descriptors[] = {null->get(), null->get(), null->get()};
  const std::vector<char*> argv = argv_of(words), envp = argv_of(environment);
  ChildSpec spec;
  spec.program = program->c_str();
  spec.argv = argv.data();
  spec.envp = envp.data();
  spec.directory = directory.empty() ? nullptr : directory.c_str();
  spec.descriptors = descriptors;
  spec.group = ChildGroup::own_session;
  spec.dies_with_parent = true;
  const auto pid = start_child(spec);
  if (!pid) return text_of(pid.error(), *program);
  running_.insert(*pid);
  return {};
}

void ToolDaemons::let_go() {
  for (const pid_t pid : running_)
    ::kill(-pid, SIGTERM);
}

}  // namespace scela::nla
