// The WakeSignal says whether the progress thread has something to do, and ends its sleep. The
// thread, and callers of DeviceTasks that leave work to it, use it. The TaskLock protects it. No
// function blocks.
#pragma once

#include "common/os/fd.h"

namespace scela::hca::progress {

// A flag that work is requested, and an eventfd that ends a sleep.
class WakeSignal {
 public:
  // Makes the eventfd. Returns 0 or an errno.
  int open();
  void close() { event_.reset(); }
  // Return whether there is an eventfd, and its number.
  bool is_open() const { return static_cast<bool>(event_); }
  int fd() const { return event_.get(); }

  // Notes that the thread has something to do. It does not end a sleep.
  void request() { requested_ = true; }
  // Returns whether work was requested since clear_request().
  bool is_requested() const { return requested_; }
  void clear_request() { requested_ = false; }
  // Ends the thread's sleep if it sleeps and work is requested.
  void wake_if_requested() {
    if (requested_ && !awake_) wake();
  }
  // Ends the thread's sleep, or its next one if it does not sleep.
  void wake();

  // Called by the thread when it begins to run, or is about to sleep.
  void set_awake() { awake_ = true; }
  void set_asleep() { awake_ = false; }
  // Called by the thread after a sleep: the eventfd is not readable any more.
  void clear_event();

 private:
  Fd event_;
  bool awake_ = false;  // the thread runs and does not sleep
  bool requested_ = false;
};

}  // namespace scela::hca::progress
