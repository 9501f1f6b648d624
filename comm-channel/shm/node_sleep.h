// A rank's sleep until another rank of its node has something for it. NodeLink owns one. A sleep
// has three parts: arm(), one of doze() and doze_beside(), and disarm().
//
// One thread at a time may call it, except that doze(), doze_beside() and wake_self() may be called
// by any thread at any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "comm-channel/shm/node_deaths.h"
#include "comm-channel/shm/node_system.h"
#include "comm-channel/shm/wakers.h"

namespace scela::channel::shm {

// `pipe`: a rank that waits for other things besides its node's ranks sleeps by a pipe (poll).
// `word`: other ranks sleep on a word of shared memory (futex), which is somewhat faster.
enum class SleepsBy : unsigned char { word, pipe };

// The cause that has ended a sleep. `node`: a rank of the node, or only the limit of time. `other`:
// an event that does not concern the node.
enum class WokenBy : unsigned char { node, other };

class NodeSleep {
 public:
  // All arguments must outlive this object; `self` is this rank.
  NodeSleep(std::uint32_t self, NodeExchange& exchange, Wakers& wakers, NodeDeaths& deaths)
      : self_(self), exchange_(exchange), wakers_(wakers), deaths_(deaths) {}

  // Announces the sleep to the other ranks. Returns false if there is something already: then the
  // caller must not sleep, and disarm() does not follow.
  bool arm();
  // Sleeps on the word of this rank. Returns once another rank or wake_self() wakes it, or at the
  // limit, or earlier.
  void doze(std::optional<std::chrono::nanoseconds> limit) {
    Wakers::sleep_on(exchange_.asleep(), limit);
  }
  // Sleeps by the pipe (SleepsBy::pipe), also until the descriptor is readable, and returns whether
  // it is.
  bool doze_beside(int descriptor, std::optional<std::chrono::nanoseconds> limit) {
    return wakers_.sleep_beside(descriptor, limit);
  }
  // Ends what a true result of arm() has begun, and counts the sleep. If nothing has woken the
  // rank, it checks whether other ranks have ended.
  void disarm(WokenBy by);
  // Does all three parts with doze(). Returns at once if the limit is 0 or less.
  void sleep(std::optional<std::chrono::nanoseconds> limit);
  // Ends a sleep of this rank.
  void wake_self() { exchange_.wake(self_); }

  // These return how often this rank has slept, and how many of these sleeps ended because
  // something came.
  std::uint64_t sleeps() const { return sleeps_; }
  std::uint64_t sleeps_woken() const { return sleeps_woken_; }

 private:
  const std::uint32_t self_;
  NodeExchange& exchange_;
  Wakers& wakers_;
  NodeDeaths& deaths_;
  std::uint32_t deaths_seen_ = 0;  // NodeDeaths::count() at the last arm()
  std::uint64_t sleeps_ = 0, sleeps_woken_ = 0;
};

}  // namespace scela::channel::shm
