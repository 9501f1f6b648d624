#include "launcher/debug/attach.h"

#include <unistd.h>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "launcher/core/debug/process_table.h"
#include "launcher/core/report/job_report.h"
#include "launcher/core/report/report_text.h"
#include "launcher/debug/attach_socket.h"
#include "launcher/debug/debugging.h"
#include "launcher/debug/mpir.h"

namespace scela {

namespace {

bool print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = retry([&] { return ::write(fd, text.data(), text.size()); });
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

int complain(const Error& error) {
  print(2, cat(kProgramName, printable(error.text(), kMaxOwnText), "\n"));
  return exit_status(error.kind);
}

int answer(std::string_view text) {
  if (print(1, text)) return kExitSuccess;
  return complain({ErrorKind::io, "write standard output", "", errno_text(errno), ""});
}

}  // namespace

int run_attach(const Options& options) {
  const auto launcher = static_cast<pid_t>(*options.attach);
  if (options.stack_traces) {
    const auto limit = options.stack_traces->count();
    auto got = ask_job(launcher, cat(kAskStacks, ' ', limit));
    return got ? answer(got->text) : complain(got.error());
  }
  auto got = ask_job(launcher, kAskProcesses);
  if (!got) return complain(got.error());
  // The first line is the job's name.
  const std::size_t head = got->text.find('\n');
  const std::string job_id = got->text.substr(0, head);
  const std::string text = head == std::string::npos ? "" : got->text.substr(head + 1);
  if (!is_debugged()) return answer(text);
  const auto table = parse_table(text);
  if (!table) return complain(table.error());
  publish_processes(*table, job_id);
  wait_for_end(*got);
  return kExitSuccess;
}

}  // namespace scela
