#include "launcher/report/direct_output.h"

#include <unistd.h>

#include <cerrno>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "launcher/core/report/job_report.h"
#include "launcher/core/report/report_text.h"

namespace scela {

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

}  // namespace scela
