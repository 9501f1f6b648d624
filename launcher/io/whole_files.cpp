#include "launcher/io/whole_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/core/text.h"
#include "common/os/fd.h"

namespace scela {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

}  // namespace

Result<std::string> read_file(const std::string& path, const std::string& what) {
  const auto refused_because = [&](std::string why) {
    return fail(Error{ErrorKind::usage, cat("read the ", what, " '", path, "'"), "", std::move(why),
                      "name a file that can be read"});
  };
  const auto refused = [&](int error) { return refused_because(errno_text(error)); };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return refused(errno);
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(file.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kLargestFile) {
      return refused_because(cat("it is larger than ", kLargestFile >> 20, " MiB"));
    }
  }
}

Result<std::string> read_standard_input(const std::string& task, const std::string& hint) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(0, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return text;
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
    if (got < 0 || text.size() > kLargestFile) {
      return fail(Error{ErrorKind::usage, task, "",
                        got < 0 ? errno_text(errno) : std::string("it is too long"), hint});
    }
  }
}

}  // namespace scela
