// The thread of DeviceTasks, which continues tasks while no thread of the program polls.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "hca/progress/payloads.h"

namespace scela::hca::progress {
namespace {

constexpr int kSteps = 256;  // between two chances for other threads
// Looks before a sleep, if looking has found completions lately.
constexpr int kMaxSpins = 64;
// The thread does not spin on more completion queues than these.
constexpr std::size_t kFew = 8;
constexpr int kYields = 100;
constexpr int kDeafMs = 10;

}  // namespace

int DeviceTasks::start_thread() {
  if (thread_.joinable()) return 0;
  if (!wake_) return EINVAL;
  // The thread blocks all signals: they are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  {
    const Turn turn(*this);
    stop_ = false;
    serving_ = true;
  }
  try {
    thread_ = std::thread([this] { serve(); });
    ::pthread_setname_np(thread_.native_handle(), "scela-tasks");
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void DeviceTasks::stop_thread() {
  if (!thread_.joinable()) return;
  {
    const Turn turn(*this);
    stop_ = true;
    wake();
  }
  thread_.join();
}

void DeviceTasks::serve() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (work(lock)) {
      let_others(lock);
      continue;
    }
    // The look after arming sees what comes between the two.
    if (spin() || arm() || wanted_) continue;
    sleep(lock);
  }
}

// Returns true if there may be more to do.
bool DeviceTasks::work(std::unique_lock<std::mutex>& lock) {
  wanted_ = false;
  const bool more = queues_.run(kSteps);
  if (!calculations_.empty()) {
    calculate_one(lock);
    return true;
  }
  return look_at_unarmed() || more || wanted_;
}

bool DeviceTasks::look_at_unarmed() {
  bool found = false;
  // A completion may change `watched_`.
  for (std::size_t i = 0; i < watched_.size(); ++i)
    if (!watched_[i]->armed && look(*watched_[i])) found = true;
  return found;
}

// Looks again for a while, because the next completions are often close behind.
bool DeviceTasks::spin() {
  const auto unarmed = static_cast<std::size_t>(
      std::ranges::count_if(watched_, [](const Cq* cq) { return !cq->armed; }));
  if (unarmed == 0 || unarmed > kFew) return false;
  for (int i = 0; i < spins_; ++i)
    if (look_at_unarmed()) {
      spins_ = std::min(2 * spins_, kMaxSpins);
      return true;
    }
  spins_ = std::max(spins_ / 2, 1);
  return false;
}

// From here on the device reports the next completion. Those that came before are taken. Returns
// true if there were any.
bool DeviceTasks::arm() {
  bool found = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Cq& cq = *watched_[i];
    if (cq.armed || cq.leaving) continue;
    cq.armed = !is_deaf_;
    if (cq.armed && own_.req_notify_cq(cq.device, 0) != 0) go_deaf();
    if (look(cq)) found = true;
  }
  return found;
}

// From here on no queue counts as armed, watched or not. A task that begins to wait for one
// therefore wakes the thread.
void DeviceTasks::go_deaf() {
  is_deaf_ = true;
  for (const auto& [device, cq] : cqs_)
    cq->armed = false;
}

void DeviceTasks::calculate_one(std::unique_lock<std::mutex>& lock) {
  Calculation one = std::move(calculations_.front());
  calculations_.pop_front();
  calculating_ = one.pair;
  lock.unlock();
  const Status status = calculate_here(one.what.op, one.what.type, one.what.pieces);
  lock.lock();
  calculating_.reset();
  calculated_.notify_all();
  queues_.calculated(one.pair, one.serial, status);
}

void DeviceTasks::let_others(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  for (int i = 0; i < kYields && coming_.load(std::memory_order_relaxed) > 0; ++i)
    ::sched_yield();
  lock.lock();
}

void DeviceTasks::sleep(std::unique_lock<std::mutex>& lock) {
  serving_ = false;
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {is_deaf_ ? -1 : channel_->fd, POLLIN, 0}};
  const int patience = is_deaf_ && !watched_.empty() ? kDeafMs : -1;
  lock.unlock();
  ::poll(fds, 2, patience);
  lock.lock();
  serving_ = true;
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &rings, sizeof rings);
  if (!is_deaf_ && fds[1].revents != 0) take_events();
}

void DeviceTasks::take_events() {
  for (;;) {
    ibv_cq* device = nullptr;
    void* cq_context = nullptr;
    if (calls_.get_cq_event(channel_, &device, &cq_context) != 0) {
      // There is no more event. Or the device has gone: its polls then say how requests end.
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) go_deaf();
      break;
    }
    if (const auto found = cqs_.find(device); found != cqs_.end()) found->second->armed = false;
    calls_.ack_cq_events(device, 1);
  }
}

}  // namespace scela::hca::progress
