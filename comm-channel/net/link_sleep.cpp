#include "comm-channel/net/link_sleep.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "common/os/syscall.h"

namespace scela::channel {

namespace {

// If a thread executes tasks, it does not wake a rank that sleeps, so the rank looks this often.
constexpr std::chrono::nanoseconds kBetweenLooks{100'000};
// Completion events that are read at a time.
constexpr unsigned kMaxCompletionEvents = 16;

}  // namespace

Result<void> LinkSleep::make() {
  woken_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (woken_) return {};
  return fail(os_error(ErrorKind::io, "make an eventfd to be woken by", errno,
                       std::string(limit_advice(errno))));
}

// Messages that came before arming are found by the next poll.
bool LinkSleep::arm() {
  if (armed_ || !device_.works()) {
    until_timer_.reset();
    if (const auto due = ports_.next_wake())
      until_timer_ = std::max(connect::Time(0), *due - device_.now());
    if (!device_.works()) return true;
    if (offload_ && offload_->must_look())
      until_timer_ = std::min(until_timer_.value_or(kBetweenLooks), kBetweenLooks);
    return true;
  }
  // A queue that cannot be armed would wake no rank, so this process then polls again and again.
  bool good = true;
  for (const verbs::Cq* const cq : {&device_.send_cq(), &device_.receive_cq()})
    good = ::ibv_req_notify_cq(cq->get(), 0) == 0 && good;
  for (const auto& port : ports_)
    good = port->arm() && good;
  if (offload_) good = offload_->arm_events() && good;
  armed_ = good;
  return false;
}

void LinkSleep::doze(const Timeout& limit) {
  const Timeout most = limit && until_timer_ ? std::min(*limit, *until_timer_)
                       : limit               ? limit
                                             : until_timer_;
  std::array<pollfd, 2> watched{{{events(), POLLIN, 0}, {woken_.get(), POLLIN, 0}}};
  timespec time{};
  if (most) {
    time.tv_sec = most->count() / 1'000'000'000;
    time.tv_nsec = most->count() % 1'000'000'000;
  }
  ::ppoll(watched.data(), watched.size(), most ? &time : nullptr, nullptr);
}

void LinkSleep::wake() {
  ::eventfd_write(woken_.get(), 1);
}

bool LinkSleep::has_event() const {
  pollfd watched{device_.events()->fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

void LinkSleep::disarm() {
  eventfd_t ignored = 0;
  ::eventfd_read(woken_.get(), &ignored);
  // If the device is gone, the events do not end.
  for (unsigned i = 0; i < kMaxCompletionEvents && has_event(); ++i) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (device_.symbols().ibv_get_cq_event(device_.events().get(), &cq, &context) != 0) return;
    device_.symbols().ibv_ack_cq_events(cq, 1);
    armed_ = false;
  }
}

}  // namespace scela::channel
