// Readiness of many short-lived descriptors with one system call each for their whole life.
//
// Asio registers a descriptor edge-triggered and re-arms it for every wait: six to eight system
// calls for a rank's pipe that is read once. A Poller is a level-triggered epoll set of its own;
// the loop watches only the set's descriptor. Closing a descriptor takes it out of the set.
#pragma once

#include <cstdint>
#include <functional>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

class Poller {
 public:
  // What the owner of a descriptor is told; lives as long as the descriptor is in the set.
  class Watcher {
   public:
    virtual void ready(bool readable, bool writable) = 0;

   protected:
    ~Watcher() = default;
  };

  static Result<Poller> create();

  // The set becomes readable when a descriptor in it is ready.
  int descriptor() const { return set_.get(); }

  void watch(int fd, bool read, bool write, Watcher& watcher);   // adds it
  void change(int fd, bool read, bool write, Watcher& watcher);  // of one that is watched
  void forget(int fd);                                           // of one that stays open

  // Tells the watchers of up to kBatch descriptors that are ready now; true if there may be more. A
  // watcher must not be destroyed from within this call, except by itself as the last thing it
  // does.
  bool dispatch();

 private:
  static constexpr int kBatch = 64;
  explicit Poller(Fd set) : set_(std::move(set)) {}
  Fd set_;
};

}  // namespace scela::nla
