#include "launcher/io/stderr_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/core/line_marks.h"
#include "common/os/clock.h"

namespace scela {

namespace {

// A pipe or terminal that poll() reports writable takes at least this many bytes without blocking.
constexpr std::size_t kSureWrite = 4096;

}  // namespace

void StderrWriter::set_raw(bool on) {
  raw_ = on && ::isatty(2) == 1;
}

void StderrWriter::write(std::string_view all) {
  if (before_) before_();
  const std::string returned = raw_ ? with_returns(all) : std::string();
  std::string_view text = raw_ ? std::string_view(returned) : all;
  while (!text.empty() && wait()) {
    const ssize_t wrote = ::write(2, text.data(), std::min(kSureWrite, text.size()));
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// Returns false if standard error does not become writable in time.
bool StderrWriter::wait() {
  using std::chrono::milliseconds;
  const std::uint64_t began = monotonic_ns();
  milliseconds left = stalled_ ? milliseconds(0) : patience_;
  for (;;) {
    constexpr milliseconds kLongest = std::chrono::hours(1);  // poll() takes an int
    pollfd one{2, POLLOUT, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min(left, kLongest).count()));
    if (ready > 0) break;  // write() finds an error
    if (ready < 0 && errno != EINTR) return false;
    const milliseconds waited((monotonic_ns() - began) / 1'000'000);
    if (stalled_ || waited >= patience_) {
      stalled_ = true;
      return false;
    }
    left = patience_ - waited;
  }
  stalled_ = false;
  return true;
}

}  // namespace scela
