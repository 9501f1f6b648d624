// A timer that calls a handler only if the wait it belongs to is still the last one.
//
// An Asio timer that has expired has its handler queued. Neither cancel() nor a new expiry takes
// that handler back: it runs later without an error, and takes the end of the earlier wait for the
// end of the new one. This happens if a process was stopped or its machine was busy, so that
// several things are due at once. Alarm drops such handlers, also when the alarm was destroyed.
//
// Used on the loop of its io_context, in one thread. Only .cpp files and private headers include
// this header, as asio.h.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "common/os/asio.h"

namespace scela {

// One timer, with at most one handler that waits.
class Alarm {
 public:
  using Clock = std::chrono::steady_clock;

  // `io` is the event loop and must outlive this object.
  explicit Alarm(boost::asio::io_context& io) : timer_(io) {}
  ~Alarm() { cancel(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Ends the wait before, and calls `handler` (a function without arguments) once after `delay`,
  // from the loop. The handler may set or destroy this alarm.
  template <typename Handler>
  void set(Clock::duration delay, Handler handler) {
    timer_.expires_after(delay);
    timer_.async_wait([turn = std::weak_ptr<unsigned>(turn_), mine = ++*turn_,
                       handler = std::move(handler)](const auto& error) mutable {
      const auto now = turn.lock();
      if (!error && now && *now == mine) handler();
    });
  }
  // Ends the wait, if there is one. Its handler does not run any more.
  void cancel() {
    ++*turn_;
    timer_.cancel();
  }
  // Returns when the last wait that was set ends, or has ended.
  Clock::time_point expiry() const { return timer_.expiry(); }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<unsigned> turn_ = std::make_shared<unsigned>(0);
};

}  // namespace scela
