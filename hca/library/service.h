// Moves bytes of this process for an engine that the kernel does not let at its memory: a thread
// that carries out the engine's orders (hca/core/layout.h), one after the other.
//
// The kernel copies between the program's memory and the area's file, so that an address at which
// there is nothing is an order that is refused, and not a signal.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "common/os/fd.h"
#include "hca/core/layout.h"

namespace scela::hca::library {

class Service {
 public:
  Service() = default;
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // `area`: at `offset` in `file`. `tell` is called after each order, on the thread. Else an errno.
  int start(std::byte* area, Fd file, std::uint64_t offset, std::function<void()> tell);
  void stop();

  // Until all orders that the engine has given by now are over: nothing that it takes back now is
  // still written to, or read, once this returns.
  void settle() const {
    if (queue_ != nullptr) wait_for_orders();
  }

 private:
  static void* run(void* service);
  void serve();
  void carry_out(std::uint32_t slot, OrderQueue& queue) const;
  bool do_order(const Order& order, std::uint32_t slot) const;
  bool move(OrderKind kind, std::uint64_t address, std::uint64_t bytes, std::uint32_t slot) const;
  void wait_for_orders() const;

  OrderQueue* queue_ = nullptr;
  std::byte* data_ = nullptr;
  Fd file_;
  std::uint64_t offset_ = 0;  // of the data, in the file
  std::function<void()> tell_;
  pthread_t thread_{};
  pid_t process_ = 0;  // a child of it has no such thread
  std::atomic<bool> over_{false};
};

}  // namespace scela::hca::library
