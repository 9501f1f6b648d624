// The WakeSignal says whether the progress thread has something to do, and ends its sleep. The
// thread, and callers of DeviceTasks that leave work to it, use it. The TaskLock protects it.
#pragma once

#include "common/os/fd.h"

namespace scela::hca::progress {

class WakeSignal {
 public:
  // Makes the descriptor that the thread sleeps on. Returns 0 or an errno.
  int open();
  void close() { event_.reset(); }
  bool is_open() const { return static_cast<bool>(event_); }
  int fd() const { return event_.get(); }

  // Says that the thread has something to do. It does not end a sleep.
  void request() { requested_ = true; }
  bool is_requested() const { return requested_; }
  void clear_request() { requested_ = false; }
  // Ends the thread's sleep if it sleeps and something is requested.
  void wake_if_requested() {
    if (requested_ && !awake_) wake();
  }
  // Ends the thread's sleep, or its next one.
  void wake();

  // For the thread: says that it begins to run, or to sleep.
  void set_awake() { awake_ = true; }
  void set_asleep() { awake_ = false; }
  // The descriptor is not ready any more.
  void clear_event();

 private:
  Fd event_;
  bool awake_ = false;  // the thread runs and does not sleep
  bool requested_ = false;
};

}  // namespace scela::hca::progress
