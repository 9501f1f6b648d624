#include "launcher/io/live_view.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"
#include "launcher/core/report/live_text.h"

namespace scela {

namespace {

// A terminal that poll() reports writable takes at least this many bytes without blocking.
constexpr std::size_t kMaxBytes = 4096;

bool write_now(std::string_view text) {
  pollfd one{2, POLLOUT, 0};
  if (text.size() > kMaxBytes || ::poll(&one, 1, 0) != 1) return false;
  const ssize_t wrote = retry([&] { return ::write(2, text.data(), text.size()); });
  return wrote == static_cast<ssize_t>(text.size());
}

}  // namespace

bool LiveView::is_possible() {
  const char* type = ::getenv("TERM");
  return ::isatty(2) == 1 && type != nullptr && *type != '\0' && std::string_view(type) != "dumb";
}

void LiveView::tick(const Gatherer& gatherer) {
  ++moments_;
  if (!needs_ticks() || moments_ < kMomentsBetween) return;
  moments_ = 0;
  changed_ = false;
  draw(gatherer);
}

void LiveView::draw(const Gatherer& gatherer) {
  LiveRoom room;
  if (const auto size = window_size(2)) room = {size->columns, size->rows};
  const std::string text = live_text(gatherer.groups_so_far(), all_, noun_, room);
  hide();
  changed_ = false;
  if (write_now(text)) lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Moves the cursor to the first of the lines and erases from there.
void LiveView::hide() {
  if (lines_ == 0) return;
  write_now(cat("\r\x1b[", lines_, "A\x1b[J"));
  lines_ = 0;
  changed_ = true;
}

void LiveView::close() {
  hide();
  closed_ = true;
}

}  // namespace scela
