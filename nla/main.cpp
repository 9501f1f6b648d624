// scela-nla: the agent of one node. Started by scela-run or by another agent, never by a person.
//
//   scela-nla --link-fd N --name NODE
//
// Becomes the guardian, which forks the agent proper (nla/guardian.h); both stay until
// nothing of the job is left on the node.

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "common/os/syscall.h"
#include "nla/guardian.h"
#include "nla/shell.h"

namespace {

constexpr int kUsage = 64;     // EX_USAGE
constexpr int kInternal = 70;  // EX_SOFTWARE
constexpr char kHelp[] =
    "usage: scela-nla --link-fd N --name NODE\n"
    "The node launch agent of ScELA. scela-run starts it; see scela-run(1).\n";

struct Arguments {
  int link = -1;
  std::string name;
};

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::string_view value = argv[i + 1];
    if (option == "--name") {
      out.name = value;
    } else if (option == "--link-fd") {
      const auto end = value.data() + value.size();
      if (std::from_chars(value.data(), end, out.link).ptr != end) return false;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && out.link >= 0 && !out.name.empty();
}

int failed(const scela::Error& error) {
  std::fprintf(stderr, "scela-nla: %s\n", error.text().c_str());
  return kInternal;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("scela-nla " SCELA_VERSION);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fputs(kHelp, stderr);
    return kUsage;
  }
  // Leading a session is how an agent is recognised by another's (process_tree.h); it fails only
  // where that is so already.
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  scela::raise_descriptor_limit();
  // Pieces of transfers go back to the system when they are done with, not into the heap's holes.
  ::mallopt(M_MMAP_THRESHOLD, 48 * 1024);
  scela::Result<scela::Fd> leash = scela::nla::fork_agent(arguments.link);
  if (!leash) return failed(leash.error());

  scela::nla::ShellOptions options;
  options.role = scela::nla::Role::agent;
  options.agent = scela::own_executable();
  options.node = arguments.name;
  options.parent = scela::Fd(arguments.link);
  options.leash = std::move(*leash);
  auto shell = scela::nla::Shell::create(std::move(options));
  if (!shell) return failed(shell.error());
  // Everything is told and cleaned up; what is left the kernel frees faster.
  ::_exit((*shell)->run());
}
