#include "hca/progress/wake_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace scela::hca::progress {

int WakeSignal::open() {
  Fd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event) return errno;
  event_ = std::move(event);
  return 0;
}

void WakeSignal::wake() {
  awake_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(event_.get(), &one, sizeof one);
}

void WakeSignal::clear_event() {
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &rings, sizeof rings);
}

}  // namespace scela::hca::progress
