#include "launcher/io/captured_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

Error failure(std::string why) {
  return Error{ErrorKind::launch, "run a command", "", std::move(why), ""};
}

Fd output_memory() {
  return Fd(::memfd_create("scela-output", MFD_CLOEXEC));
}

// Returns the end of the text in memory.
std::string text_in(const Fd& memory) {
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  const auto begin = std::max<off_t>(0, size - static_cast<off_t>(CapturedCommand::kMaxOutput));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

}  // namespace

Result<CapturedCommand> CapturedCommand::start(CommandSpec spec) {
  CapturedCommand out;
  const std::string& name = spec.words.front();
  const char* path = std::getenv("PATH");
  const auto program = find_program(name, path == nullptr ? kUsualPath : path, ".");
  if (!program) return fail(failure(cat("find '", name, "': ", errno_text(program.error()))));
  out.output_ = output_memory();
  out.errors_ = output_memory();
  const int descriptors[] = {spec.input, spec.output < 0 ? out.output_.get() : spec.output,
                             out.errors_.get()};
  const std::vector<char*> argv = argv_of(spec.words), envp = argv_of(spec.environment);
  ChildSpec child;
  child.program = program->c_str();
  child.argv = argv.data();
  child.envp = envp.data();
  child.descriptors = descriptors;
  child.group = ChildGroup::own_session;  // ^C is not for it
  child.dies_with_parent = spec.dies_with_parent;
  const auto pid = start_child(child);
  if (!pid) return fail(failure(text_of(pid.error(), *program)));
  out.pid_ = *pid;
  out.process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (out.process_) return out;
  // Its end could not be seen.
  const int error = errno;
  ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  return fail(failure(cat("open a descriptor of its process: ", errno_text(error))));
}

std::optional<int> CapturedCommand::wait(std::chrono::milliseconds limit) {
  if (ended_) return ended_;
  pollfd ready{process_.get(), POLLIN, 0};
  if (retry([&] { return ::poll(&ready, 1, static_cast<int>(limit.count())); }) != 1)
    return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, WNOHANG);
  ended_ = status;
  return ended_;
}

void CapturedCommand::send(int signal) {
  if (!ended_) ::syscall(SYS_pidfd_send_signal, process_.get(), signal, nullptr, 0);
}

void CapturedCommand::kill() {
  if (!ended_) ::kill(-pid_, SIGKILL);
  static_cast<void>(wait(std::chrono::milliseconds(-1)));
}

std::string CapturedCommand::output() const {
  return text_in(output_);
}
std::string CapturedCommand::errors() const {
  return text_in(errors_);
}

Result<std::string> output_of(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment,
                              std::chrono::milliseconds limit) {
  std::string line;
  for (const std::string& word : words)
    line += cat(line.empty() ? "" : " ", word);
  const auto failed = [&](std::string_view why) {
    return fail(
        Error{ErrorKind::usage, cat("run '", line, "'"), "", cat("'", line, "' ", why), ""});
  };
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto command = CapturedCommand::start({words, environment, nothing.get(), true});
  if (!command) return failed(cat("cannot be run: ", command.error().why));
  const auto status = command->wait(limit);
  if (!status) {
    command->kill();
    return failed(cat("has not ended within ", limit.count(), " ms (--connect-timeout)"));
  }
  if (*status == 0) return command->output();
  const std::string said = telling_line(bulk_lines(command->errors()));
  return failed(cat(end_of(*status), said.empty() ? "" : "; it said: ", printable(said)));
}

}  // namespace scela
