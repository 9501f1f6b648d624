#include "nla/ranks/pmix_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "nla/core/tree/remote_shell.h"

// The carried copy (nla/pack/carried_server.c). Programs that are linked without it have null
// pointers here.
extern "C" {
[[gnu::weak]] extern const char kScelaPmixImage[];
[[gnu::weak]] extern const char kScelaPmixImageEnd[];
}

namespace scela::nla {

namespace {

constexpr int kTryMs = 5000;

std::string_view carried_image() {
  if (kScelaPmixImage == nullptr) return {};
  return {kScelaPmixImage, static_cast<std::size_t>(kScelaPmixImageEnd - kScelaPmixImage)};
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = retry([&] { return ::write(file, bytes.data(), bytes.size()); });
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Returns the carried copy as a file in memory. Returns an invalid descriptor if the agent carries
// none, or if the node has no memory for it.
Fd carried_copy() {
#ifndef MFD_EXEC  // Linux 6.3
#define MFD_EXEC 0x10U
#endif
  const std::string_view image = carried_image();
  if (image.empty()) return {};
  Fd file(::memfd_create(kPmixServer, MFD_CLOEXEC | MFD_EXEC));
  if (!file) file = Fd(::memfd_create(kPmixServer, MFD_CLOEXEC));  // an older system
  if (!file || !write_all(file.get(), image)) return {};
  return file;
}

std::string_view path_variable() {
  const char* const set_path = ::getenv("PATH");
  return set_path == nullptr ? kUsualPath : std::string_view(set_path);
}

// Waits until the child has ended, and kills it after kTryMs. Returns its wait status.
int status_of(pid_t pid) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd wait{process.get(), POLLIN, 0};
  // A system without pidfd_open waits without a limit.
  if (process && retry([&] { return ::poll(&wait, 1, kTryMs); }) == 0) ::kill(pid, SIGKILL);
  int status = -1;
  retry([&] { return ::waitpid(pid, &status, 0); });
  return status;
}

}  // namespace

Result<PmixProgram> PmixProgram::find(const NodeFacts& node) {
  const std::string own = own_directory();
  const std::string installed =
      cat(own, node.helper_directory.empty() ? "" : cat(":", node.helper_directory));
  if (auto found = find_program(kPmixServer, installed, "/")) return PmixProgram(*found, Fd());
  if (Fd copy = carried_copy())
    return PmixProgram(cat(kPmixServer, " (sent with the agent)"), std::move(copy));
  if (auto found = find_program(kPmixServer, path_variable(), "/"))
    return PmixProgram(*found, Fd());
  // An agent that was shipped for this job has no name any more, and is not in the usual place.
  const bool was_sent = own.starts_with("/proc/");
  return fail(Error{ErrorKind::launch, "start the node's PMIx server", "",
                    cat("there is no ", kPmixServer, " on this node, ",
                        was_sent ? "" : cat("beside ", own, "/scela-nla or "), "in PATH"),
                    "install it with libpmix (package libpmix2) there, or use another --pmi"});
}

bool PmixProgram::runs_here() const {
  if (!copy_) return true;
  const Result<Fd> null = open_file("/dev/null", O_RDWR);
  if (!null) return false;
  std::vector<std::string> words = {kPmixServer, "--version"};
  const std::vector<char*> argv = argv_of(words);
  const int descriptors[] = {null->get(), null->get(), null->get()};
  ChildSpec spec;
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto pid = start(spec);
  return pid && status_of(*pid) == 0;
}

tl::expected<pid_t, ChildError> PmixProgram::start(ChildSpec spec) const {
  if (!copy_) {
    spec.program = path_.c_str();
    return start_child(spec);
  }
  // The child's other descriptors are closed before it executes the program, so it needs one for
  // the copy.
  std::vector<int> descriptors(spec.descriptors.begin(), spec.descriptors.end());
  const std::string program = cat("/proc/self/fd/", descriptors.size());
  descriptors.push_back(copy_.get());
  spec.program = program.c_str();
  spec.descriptors = descriptors;
  return start_child(spec);
}

}  // namespace scela::nla
