// Blocks the signals of the calling thread for a while. Threads that it starts meanwhile have them
// blocked for good, so that the main thread gets them: it blocks some at times and reads them, and
// then they would end the process in any other thread. Name lookups and logins use it.
#pragma once

#include <signal.h>

namespace scela {

// Blocks all signals of the thread that makes it, for as long as the object lives.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace scela
