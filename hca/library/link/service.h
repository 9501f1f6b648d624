// Copies bytes of this process for an engine that the kernel does not let access its memory. The
// engine asks for that by orders (hca/core/wire/shared_layout.h), and the bytes go through an area
// that both map. One thread executes the orders one after the other. EngineLink has one Service.
//
// The kernel copies between the program's memory and the area's file. So an order with an address
// that is not mapped is refused, and raises no signal.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "common/os/fd.h"
#include "hca/core/wire/shared_layout.h"

namespace scela::hca::library {

// The thread, and the area of orders. start() and stop() are called by one thread at a time;
// settle() by any.
class OrderThread {
 public:
  OrderThread() = default;
  ~OrderThread() { stop(); }
  OrderThread(const OrderThread&) = delete;
  OrderThread& operator=(const OrderThread&) = delete;

  // Starts the thread. `area` is where this process maps the area, which lies at `offset` in
  // `file`. The thread calls `tell` after each order. Returns 0 or an errno.
  int start(std::byte* area, Fd file, std::uint64_t offset, std::function<void()> tell);
  // Ends the thread and waits for it; it finishes the order that it executes. A child of the
  // process only forgets the thread.
  void stop();

  // Blocks until all orders that the engine has given by now are over. After that, no order still
  // reads or writes memory that the engine has released. Returns at once if there is no thread.
  void settle() const {
    if (queue_ != nullptr) wait_for_orders();
  }

 private:
  // These two are the thread: it executes orders until stop(), and sleeps while there are none.
  static void* run(void* service);
  void serve();
  // Executes the order in the slot with this number, and stores its state. A cancelled order is
  // skipped.
  void execute_slot(std::uint32_t slot, OrderQueue& queue) const;
  // These return false if some of the memory is not mapped: the order is then refused. do_order()
  // executes an order. move() copies from `address` to the slot's data for `fetch`, and back for
  // `store`.
  bool do_order(const RemoteMemoryOp& order, std::uint32_t slot) const;
  bool move(OrderKind kind, std::uint64_t address, std::uint64_t bytes, std::uint32_t slot) const;
  // Does what settle() says. It returns at once on the thread itself, and in a child of the
  // process.
  void wait_for_orders() const;

  OrderQueue* queue_ = nullptr;
  std::byte* data_ = nullptr;
  Fd file_;
  std::uint64_t offset_ = 0;  // of slot 0's data in the file
  std::function<void()> tell_;
  pthread_t thread_{};
  // The process that has the thread; its children have none.
  pid_t process_ = 0;
  std::atomic<bool> over_{false};
};

}  // namespace scela::hca::library
