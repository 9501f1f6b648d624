#include "nla/node/run_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::nla {

void RunRecord::start(std::string path) {
  path_ = std::move(path);
  writer_.emplace(context_.role);
}

Result<void> RunRecord::make_file() {
  Result<Fd> file = open_file(path_, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  return {};
}

void RunRecord::write() {
  if (!file_) {
    if (Result<void> made = make_file(); !made) return fail_with(made.error());
  }
  const std::string bytes = writer_->take();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote =
        retry([&] { return ::write(file_.get(), bytes.data() + at, bytes.size() - at); });
    if (wrote < 0) {
      return fail_with(os_error(ErrorKind::io, cat("write the record '", path_, "'"), errno));
    }
    at += static_cast<std::size_t>(wrote);
  }
}

void RunRecord::fail_with(Error why) {
  writer_.reset();
  if (!context_.is_root()) context_.log(LogLevel::error, Subsystem::trace, why.text());
  error_ = std::move(why);
}

}  // namespace scela::nla
