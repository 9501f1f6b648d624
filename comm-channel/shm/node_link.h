// A rank's link to the others of its node: small messages, and waiting for them. The messenger, and
// the part of the channel that waits (comm-channel/api/progress.h), use it.
//
// The parts have the state:
//
//   Membership     what ranks publish of themselves     Wakers         how ranks wake each other
//   Processes      the processes of the ranks           NodeDeaths     which ranks have ended
//   NodeExchange   messages                             NodeSleep      sleeping until one comes
//   Waiting        what to do while nothing comes       DirectCopies   copies of large messages
//
// One thread at a time may call it, except for the functions of NodeSleep that say otherwise. Ranks
// are those of the node, from 0.
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/shm/direct_copies.h"
#include "comm-channel/shm/membership.h"
#include "comm-channel/shm/node_deaths.h"
#include "comm-channel/shm/node_sleep.h"
#include "comm-channel/shm/node_system.h"
#include "comm-channel/shm/processes.h"
#include "comm-channel/shm/segment.h"
#include "comm-channel/shm/waiting.h"
#include "comm-channel/shm/wakers.h"
#include "common/core/result.h"
#include "common/os/clock.h"

namespace scela::channel::shm {

class NodeLink {
 public:
  // Makes the link and publishes the rank to the others. Once every rank has joined (the job's
  // bootstrap knows), each calls settle(); then messages may be sent.
  static Result<std::unique_ptr<NodeLink>> join(std::shared_ptr<const Segment> segment,
                                                std::uint32_t rank,
                                                SleepsBy sleeps_by = SleepsBy::word);
  // Finds out what the node permits: fences, copies, and whether ranks share processors.
  void settle();
  // Makes this rank yield and sleep early when it waits, because processes other than the ranks
  // need the processors.
  void share_processors() { wait_as(Processors::lent); }
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return segment_->shape().ranks; }
  // Returns the processors on which the rank could run when it joined; empty if it has not joined.
  std::vector<int> processors_of(std::uint32_t rank) const {
    return membership_.processors_of(rank);
  }
  // Returns the most bytes of the payload of one message.
  std::size_t most() const { return segment_->shape().payload; }

  // Sends a message. Returns false if there is no room now; the caller tries again after poll() or
  // sleep(). The payload has at most most() bytes and may be reused at once.
  bool send_small(std::uint32_t peer, const Header& header, std::span<const std::byte> payload) {
    assert(payload.size() <= most());
    return exchange_.send(peer, header, payload);
  }
  // Calls handle(peer, header, payload) for each message that is there, a few dozen at most, and
  // returns how many there were. The payload is valid until the handler returns. The handler may
  // send.
  template <class Handle>
  std::uint32_t poll(Handle&& handle) {
    const std::uint32_t count = exchange_.poll(handle);
    if (count != 0) waiting_.over();
    return count;
  }

  // Called after poll() found nothing, again and again with poll() in between. It looks again at
  // once, yields or sleeps, as suits. It does not sleep longer than the limit.
  void wait(std::optional<std::chrono::nanoseconds> limit = {}) {
    switch (waiting_.next(monotonic_ns)) {
      case Waiting::Step::look:
        return;
      case Waiting::Step::yield:
        return yield();
      case Waiting::Step::sleep:
        sleep(limit);
    }
  }
  // Carries out Step::look for a moment: it costs less than poll(), and so notices a message
  // sooner.
  void look() {
    for (std::uint32_t looks = 0; looks < kLooks && !exchange_.something(); ++looks) {
    }
  }
  // Begins the time of waiting anew, because something went on other than by poll().
  void moved() { waiting_.over(); }
  // Makes this rank wait awake for longer, since another rank is about to copy a message of so many
  // bytes; 0: there is none any more.
  void expect_copy(std::uint64_t bytes) { waiting_.expect(bytes); }
  // Returns what wait() would do next, for a caller that waits elsewhere as well.
  Waiting::Step next_step() { return waiting_.next(monotonic_ns); }
  // Carries out Step::yield: lets other processes run, and counts the time.
  void yield() { yielded(timed_yield()); }
  // These are the parts of yield(). timed_yield() needs no lock and returns nanoseconds. yielded()
  // counts them; otherwise the rank would never come to sleep.
  static std::uint64_t timed_yield();
  void yielded(std::uint64_t took_ns) { waiting_.yielded(took_ns); }
  // Blocks until there is something, room for a refused message, news of a death, or the limit is
  // over. It may return somewhat earlier.
  void sleep(std::optional<std::chrono::nanoseconds> limit = {}) { sleep_.sleep(limit); }

  // For a caller that waits elsewhere as well, or that sleeps without the lock of the link.
  NodeSleep& sleeping() { return sleep_; }
  const NodeSleep& sleeping() const { return sleep_; }
  NodeDeaths& deaths() { return deaths_; }
  DirectCopies& copies() { return copies_; }
  const DirectCopies& copies() const { return copies_; }

  // Returns whether ranks may have to share processors.
  bool crowded() const { return processors_ != Processors::own; }
  // Returns how many of this rank's fast boxes are given to senders now.
  std::uint32_t boxes_given() const { return exchange_.boxes_given(); }
  // Returns how many bytes of shared memory this rank has allocated.
  std::uint64_t shared_bytes() const { return system_.bytes(); }
  // Returns text for people: how many ranks there are, and what this machine permits.
  std::string describe() const;

 private:
  static constexpr std::uint32_t kLooks = 16;

  NodeLink(std::shared_ptr<const Segment> segment, std::uint32_t rank);
  void wait_as(Processors processors) {
    processors_ = processors;
    waiting_ = Waiting(limits_for(processors));
  }

  std::shared_ptr<const Segment> segment_;
  std::uint32_t rank_;
  Processes processes_;
  Wakers wakers_;
  NodeDeaths deaths_;
  NodeSystem system_;
  NodeExchange exchange_;
  NodeSleep sleep_;
  DirectCopies copies_;
  Processors processors_ = Processors::own;
  Waiting waiting_{limits_for(Processors::own)};
  bool fences_ = true;     // some rank has no working barrier
  Membership membership_;  // destroyed first: the rank leaves before its parts end
};

}  // namespace scela::channel::shm
