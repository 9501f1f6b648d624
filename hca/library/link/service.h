// Moves bytes of this process for an engine that the kernel does not let access its memory. One
// thread executes the engine's orders (hca/core/wire/layout.h) one after the other. EngineLink has
// one Service.
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
#include "hca/core/wire/layout.h"

namespace scela::hca::library {

class Service {
 public:
  Service() = default;
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Starts the thread. `area` lies at `offset` in `file`. The thread calls `tell` after each order.
  // Returns 0 or an errno.
  int start(std::byte* area, Fd file, std::uint64_t offset, std::function<void()> tell);
  // Ends the thread after the order that it executes. A child of the process only forgets it.
  void stop();

  // Waits until all orders that the engine has given by now are over. Once this returns, no order
  // still reads or writes memory that the engine takes back now.
  void settle() const {
    if (queue_ != nullptr) wait_for_orders();
  }

 private:
  // These two are the thread: it executes orders until stop(), and sleeps while there are none.
  static void* run(void* service);
  void serve();
  // Executes the order in the slot and stores its state. A cancelled order is skipped.
  void carry_out(std::uint32_t slot, OrderQueue& queue) const;
  // These return false if some of the memory is not mapped: the order is then refused. move()
  // copies from `address` to the slot's data for `fetch`, and back for `store`.
  bool do_order(const RemoteMemoryOp& order, std::uint32_t slot) const;
  bool move(OrderKind kind, std::uint64_t address, std::uint64_t bytes, std::uint32_t slot) const;
  // Waits as settle() says. It returns at once on the thread itself, and in a child of the process.
  void wait_for_orders() const;

  OrderQueue* queue_ = nullptr;
  std::byte* data_ = nullptr;
  Fd file_;
  std::uint64_t offset_ = 0;  // the data's place in the file
  std::function<void()> tell_;
  pthread_t thread_{};
  pid_t process_ = 0;  // its children have no such thread
  std::atomic<bool> over_{false};
};

}  // namespace scela::hca::library
