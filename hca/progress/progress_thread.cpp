#include "hca/progress/progress_thread.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "common/os/syscall.h"

namespace scela::hca::progress {
namespace {

constexpr int kSteps = 256;  // between two chances for other threads
// Looks before a sleep, if looking has found completions lately.
constexpr int kMaxSpins = 64;
// The thread does not spin on more completion queues than these.
constexpr std::size_t kFew = 8;
constexpr int kDeafMs = 10;

}  // namespace

int ProgressThread::open(ibv_context& context) {
  if (channel_ != nullptr) return 0;
  if (const int error = work_.signal.open(); error != 0) return error;
  int error = 0;
  errno = 0;
  ibv_comp_channel* const channel = calls_.create_comp_channel(&context);
  if (channel == nullptr) {
    error = errno != 0 ? errno : ENOMEM;
  } else if (!set_nonblocking(channel->fd)) {
    error = errno;
    calls_.destroy_comp_channel(channel);
  }
  if (error != 0) {
    work_.signal.close();
    return error;
  }
  channel_ = channel;
  is_deaf_ = false;
  return 0;
}

void ProgressThread::close() {
  if (channel_ != nullptr) calls_.destroy_comp_channel(std::exchange(channel_, nullptr));
  work_.signal.close();
}

int ProgressThread::start() {
  if (thread_.joinable()) return 0;
  if (!work_.signal.is_open()) return EINVAL;
  // The thread blocks all signals: they are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  {
    const TaskLock::Turn turn(work_.lock);
    stop_ = false;
    work_.signal.set_awake();
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

void ProgressThread::stop() {
  if (!thread_.joinable()) return;
  {
    const TaskLock::Turn turn(work_.lock);
    stop_ = true;
    work_.signal.wake();
  }
  thread_.join();
}

void ProgressThread::serve() {
  std::unique_lock lock(work_.lock.mutex());
  while (!stop_) {
    if (work(lock)) {
      work_.lock.let_callers(lock);
      continue;
    }
    // The look after arming sees what comes between the two.
    if (spin() || arm() || work_.signal.is_requested()) continue;
    sleep(lock);
  }
}

// Returns true if there may be more to do.
bool ProgressThread::work(std::unique_lock<std::mutex>& lock) {
  work_.signal.clear_request();
  const bool more = work_.queues.run(kSteps);
  if (!work_.calculations.empty()) {
    const CalculationQueue::Ended ended = work_.calculations.run_oldest(lock);
    work_.queues.calculated(ended.pair, ended.serial, ended.status);
    return true;
  }
  return work_.poller.look_at_unarmed() || more || work_.signal.is_requested();
}

// Looks again for a while, because the next completions are often close behind.
bool ProgressThread::spin() {
  const std::size_t unarmed = work_.poller.unarmed();
  if (unarmed == 0 || unarmed > kFew) return false;
  for (int i = 0; i < spins_; ++i)
    if (work_.poller.look_at_unarmed()) {
      spins_ = std::min(2 * spins_, kMaxSpins);
      return true;
    }
  spins_ = std::max(spins_ / 2, 1);
  return false;
}

// From here on the device reports the next completion. Those that came before are taken. Returns
// true if there were any.
bool ProgressThread::arm() {
  bool found = false;
  // A completion may change watched().
  for (std::size_t i = 0; i < work_.poller.watched().size(); ++i) {
    TaskCq& cq = *work_.poller.watched()[i];
    if (cq.armed || cq.leaving) continue;
    cq.armed = !is_deaf_;
    if (cq.armed && device_.req_notify_cq(cq.device, 0) != 0) begin_polling();
    if (work_.poller.look(cq)) found = true;
  }
  return found;
}

// From here on no queue counts as armed, watched or not. A task that begins to wait for one
// therefore wakes the thread.
void ProgressThread::begin_polling() {
  is_deaf_ = true;
  work_.objects.clear_armed();
}

void ProgressThread::sleep(std::unique_lock<std::mutex>& lock) {
  work_.signal.set_asleep();
  pollfd fds[] = {{work_.signal.fd(), POLLIN, 0}, {is_deaf_ ? -1 : channel_->fd, POLLIN, 0}};
  const int patience = is_deaf_ && !work_.poller.watched().empty() ? kDeafMs : -1;
  lock.unlock();
  ::poll(fds, 2, patience);
  lock.lock();
  work_.signal.set_awake();
  work_.signal.clear_event();
  if (!is_deaf_ && fds[1].revents != 0) take_events();
}

void ProgressThread::take_events() {
  for (;;) {
    ibv_cq* device = nullptr;
    void* cq_context = nullptr;
    if (calls_.get_cq_event(channel_, &device, &cq_context) != 0) {
      // There is no more event. Or the device has gone: its polls then say how requests end.
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) begin_polling();
      break;
    }
    if (TaskCq* const cq = work_.objects.find(device)) cq->armed = false;
    calls_.ack_cq_events(device, 1);
  }
}

}  // namespace scela::hca::progress
