// Readiness of many short-lived descriptors, with one system call each for their whole life.
//
// Asio registers a descriptor edge-triggered and re-arms it for every wait. This takes six to eight
// system calls for a rank's pipe that is read once. A Poller is a level-triggered epoll set of its
// own, and the loop watches only the set's descriptor. Closing a descriptor takes it out of the
// set. Ranks and their parts use it, all in the thread of the shell's loop. Nothing here blocks.
#pragma once

#include <cstdint>
#include <functional>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

// One set of descriptors with their watchers.
class Poller {
 public:
  // Receives the readiness of one descriptor. It must live as long as the descriptor is in the set.
  class Watcher {
   public:
    // Called by dispatch(). An error or a hang-up counts as readable and as writable.
    virtual void ready(bool readable, bool writable) = 0;

   protected:
    ~Watcher() = default;
  };

  // Makes an empty set. Returns the error of the system if it refuses.
  static Result<Poller> create();

  // Returns the descriptor of the set. It becomes readable if a descriptor in the set is ready.
  int descriptor() const { return set_.get(); }

  // watch() adds `fd` to the set: its watcher is called when it is readable (if `read`) or writable
  // (if `write`). change() changes this for an `fd` in the set. forget() takes an `fd` that stays
  // open out of the set.
  void watch(int fd, bool read, bool write, Watcher& watcher);
  void change(int fd, bool read, bool write, Watcher& watcher);  // `fd` must be in the set
  void forget(int fd);                                           // for an `fd` that stays open

  // Calls the watchers of up to kBatch descriptors that are ready now. Returns true if there may be
  // more. A watcher must not be destroyed from within this call, except by itself as the last thing
  // it does.
  bool dispatch();

 private:
  static constexpr int kBatch = 64;
  explicit Poller(Fd set) : set_(std::move(set)) {}
  Fd set_;
};

}  // namespace scela::nla
