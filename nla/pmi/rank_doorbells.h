// The doorbells of this node's ranks that use memory instead of their sockets. All of these ranks
// ring one doorbell after they have written there, since descriptors are counted; the agent then
// looks at each of them. A second doorbell is rung by the agent only.
//
// RankPmi owns this part and lends it to its connections. It runs on the shell's loop.
#pragma once

#include <memory>
#include <vector>

#include "common/os/fd.h"
#include "nla/io/poller.h"

namespace scela::nla {

// Implemented by the connections of ranks that have a ring.
class DoorbellListener {
 public:
  // Called when any rank has rung, so the listener looks at the memory of its own rank. It must not
  // add or remove listeners that exist already.
  virtual void rung() = 0;

 protected:
  ~DoorbellListener() = default;
};

class RankDoorbells {
 public:
  RankDoorbells() = default;
  RankDoorbells(const RankDoorbells&) = delete;
  RankDoorbells& operator=(const RankDoorbells&) = delete;

  // Makes the two doorbells, if there are none yet, and adds them to `poller`, which is borrowed.
  // Returns false if the system refuses descriptors.
  bool hang(Poller& poller);
  // Returns the eventfd by which ranks ring; it stays owned by this object. To be called after
  // hang().
  int descriptor() const { return of_ranks_->fd.get(); }
  // Makes the loop call all listeners in a later turn. Does nothing before hang(). Does not block.
  void ring() const;

  // Add or remove a borrowed listener. remove() must come before the listener's end.
  void add(DoorbellListener& listener) { listeners_.push_back(&listener); }
  void remove(DoorbellListener& listener) { std::erase(listeners_, &listener); }

 private:
  // An eventfd in the poller's set, which calls rung().
  struct Doorbell final : Poller::Watcher {
    explicit Doorbell(RankDoorbells& owner) : all(owner) {}
    void ready(bool readable, bool writable) override;
    RankDoorbells& all;
    Fd fd;  // an eventfd
  };

  // Calls all listeners.
  void rung();

  std::unique_ptr<Doorbell> own_;       // rung by the agent only
  std::unique_ptr<Doorbell> of_ranks_;  // made once a rank has asked for memory
  std::vector<DoorbellListener*> listeners_;
};

}  // namespace scela::nla
