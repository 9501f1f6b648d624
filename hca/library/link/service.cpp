#include "hca/library/link/service.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "common/os/futex.h"
#include "common/os/syscall.h"

namespace scela::hca::library {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;  // also holds thread-local variables

// A program may have opened the device several times. This lock serializes its atomic operations.
std::mutex& of_numbers() {
  static std::mutex mutex;
  return mutex;
}

// The thread blocks all signals, so it runs none of the program's handlers.
int begin_thread(pthread_t& thread, void* (*what)(void*), void* with) {
  pthread_attr_t attributes;
  if (const int error = ::pthread_attr_init(&attributes)) return error;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = ::pthread_create(&thread, &attributes, what, with);
  if (error != 0) error = ::pthread_create(&thread, nullptr, what, with);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

int OrderThread::start(std::byte* area, Fd file, std::uint64_t offset, std::function<void()> tell) {
  queue_ = reinterpret_cast<OrderQueue*>(area);
  data_ = area + kOrderDataOffset;
  file_ = std::move(file);
  offset_ = offset + kOrderDataOffset;
  tell_ = std::move(tell);
  process_ = ::getpid();
  const int error = begin_thread(thread_, run, this);
  if (error != 0) queue_ = nullptr;
  return error;
}

void OrderThread::stop() {
  if (queue_ == nullptr) return;
  if (::getpid() == process_) {
    over_.store(true, std::memory_order_seq_cst);
    queue_->doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(word_of(queue_->doorbell));
    ::pthread_join(thread_, nullptr);
  }
  queue_ = nullptr;
}

void* OrderThread::run(void* service) {
  static_cast<OrderThread*>(service)->serve();
  return nullptr;
}

void OrderThread::serve() {
  OrderQueue& queue = *queue_;
  std::uint64_t next = 0;
  while (!over_.load(std::memory_order_acquire)) {
    if (queue.posted.load(std::memory_order_acquire) == next) {
      const std::uint32_t seen = queue.doorbell.load(std::memory_order_seq_cst);
      queue.asleep.store(1, std::memory_order_seq_cst);
      if (queue.posted.load(std::memory_order_seq_cst) == next &&
          !over_.load(std::memory_order_seq_cst))
        futex_wait(word_of(queue.doorbell), seen, nullptr);
      continue;
    }
    execute_slot(queue.slots[next % kOrders].load(std::memory_order_relaxed) % kOrders, queue);
    queue.carried.store(++next, std::memory_order_seq_cst);
    tell_();
  }
}

void OrderThread::execute_slot(std::uint32_t slot, OrderQueue& queue) const {
  OrderSlot& shared = queue.orders[slot];
  OrderState state = OrderState::waits;
  if (!shared.state.compare_exchange_strong(state, OrderState::begun)) return;
  const bool done = do_order(shared.order, slot);
  shared.state.store(done ? OrderState::done : OrderState::refused, std::memory_order_release);
}

bool OrderThread::do_order(const RemoteMemoryOp& order, std::uint32_t slot) const {
  if (order.kind == OrderKind::fetch || order.kind == OrderKind::store)
    return move(order.kind, order.address, order.bytes, slot);
  const std::lock_guard lock(of_numbers());
  if (!move(OrderKind::fetch, order.address, 8, slot)) return false;
  std::uint64_t before = 0;
  std::memcpy(&before, data_ + slot * kOrderBytes, sizeof before);
  const std::uint64_t after = changed(order.kind, before, order.compare_add, order.swap);
  std::memcpy(data_ + slot * kOrderBytes, &after, sizeof after);
  if (!move(OrderKind::store, order.address, 8, slot)) return false;
  std::memcpy(data_ + slot * kOrderBytes, &before, sizeof before);
  return true;
}

bool OrderThread::move(OrderKind kind, std::uint64_t address, std::uint64_t bytes,
                       std::uint32_t slot) const {
  auto at = static_cast<off_t>(offset_ + slot * kOrderBytes);
  bytes = std::min(bytes, kOrderBytes);
  while (bytes > 0) {
    void* const memory = reinterpret_cast<void*>(address);  // NOLINT: the program's
    const ssize_t moved = retry([&] {
      return kind == OrderKind::fetch ? ::pwrite(file_.get(), memory, bytes, at)
                                      : ::pread(file_.get(), memory, bytes, at);
    });
    if (moved <= 0) return false;
    address += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::uint64_t>(moved);
    at += moved;
  }
  return true;
}

void OrderThread::wait_for_orders() const {
  const std::uint64_t given = queue_->posted.load(std::memory_order_seq_cst);
  if (queue_->carried.load(std::memory_order_acquire) >= given) return;
  if (::getpid() != process_ || ::pthread_equal(::pthread_self(), thread_) != 0) return;
  while (queue_->carried.load(std::memory_order_acquire) < given)
    ::sched_yield();
}

}  // namespace scela::hca::library
