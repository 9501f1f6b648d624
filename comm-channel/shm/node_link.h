// A rank's link to the others of its node: small messages, large messages that their receiver
// copies, and waiting. The messenger uses it.
//
// One thread at a time may call it, except for doze(), doze_beside() and wake_self().
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

#include "comm-channel/shm/exchange.h"
#include "comm-channel/shm/processes.h"
#include "comm-channel/shm/segment.h"
#include "comm-channel/shm/waiting.h"
#include "common/core/result.h"
#include "common/os/clock.h"
#include "common/os/fd.h"

namespace scela::channel::shm {

// `pipe`: a rank that waits for other things besides its node's ranks sleeps by a pipe (poll).
// `word`: other ranks sleep on a word of shared memory (futex), which is somewhat faster.
enum class SleepsBy : unsigned char { word, pipe };

class NodeLink {
 public:
  // Ranks here are those of the node, from 0. Once every rank has joined (the job's bootstrap
  // knows), each calls settle(); then messages may be sent.
  static Result<std::unique_ptr<NodeLink>> join(std::shared_ptr<const Segment> segment,
                                                std::uint32_t rank,
                                                SleepsBy sleeps_by = SleepsBy::word);
  void settle();
  // Processes other than the ranks need the processors, so ranks that wait leave these to them.
  void share_processors();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  ~NodeLink();

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return segment_->shape().ranks; }
  // Returns the processors on which the rank could run when it joined; empty if it has not joined.
  std::vector<int> processors_of(std::uint32_t rank) const;
  std::size_t most() const { return segment_->shape().payload; }  // bytes of a payload

  // Returns false if there is no room now; the caller tries again after poll() or sleep(). The
  // payload may be reused at once.
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
  // Something went on other than by poll(): the time of waiting begins anew.
  void moved() { waiting_.over(); }
  // A message of this many bytes is about to be copied by another rank; 0: there is none any more.
  void expect_copy(std::uint64_t bytes) { waiting_.expect(bytes); }
  // Returns what wait() would do next, for a caller that waits elsewhere as well.
  Waiting::Step next_step() { return waiting_.next(monotonic_ns); }
  void yield() { yielded(timed_yield()); }
  // These are the parts of yield(). timed_yield() needs no lock and returns nanoseconds. yielded()
  // counts them; otherwise the rank would never come to sleep.
  static std::uint64_t timed_yield();
  void yielded(std::uint64_t took_ns) { waiting_.yielded(took_ns); }
  // Blocks until there is something, room for a refused message, news of a death, or the limit is
  // over. It may return somewhat earlier.
  void sleep(std::optional<std::chrono::nanoseconds> limit = {});
  // These are the parts of sleep(). If arm() returns false, the caller must not sleep. Any thread
  // may call doze() and wake_self() without the lock of the link. After doze(), the caller must
  // call disarm().
  bool arm();
  void doze(std::optional<std::chrono::nanoseconds> limit);
  // Sleeps by the pipe, also until the descriptor is readable, and returns whether it is.
  bool doze_beside(int descriptor, std::optional<std::chrono::nanoseconds> limit);
  // `woken` says that something other than the node has woken the rank.
  void disarm(bool woken = false);
  void wake_self() { exchange_.wake(rank_); }

  // Returns whether receivers can copy large messages; why_not() is the reason for the user.
  bool can_read() const { return can_read_; }
  const Error& why_not() const { return why_not_; }
  // Returns whether this rank is to tell the user that large messages are not copied. It is true
  // for the first rank of the node that asks.
  bool is_to_say_why_not() const { return !can_read_ && (segment_->said().fetch_or(1) & 1) == 0; }
  Copied read_from(std::uint32_t peer, std::uint64_t address, std::span<std::byte> to) {
    return processes_.read(peer, address, to);
  }

  // Returns whether the rank is known to have ended. poll() still finds what it had sent; once
  // poll() finds nothing, nothing comes from it any more.
  bool dead(std::uint32_t peer) const {
    return segment_->ended(peer).load(std::memory_order_acquire) != 0;
  }
  // Returns how many ranks are known to have ended; it differs if another rank has ended.
  std::uint32_t deaths() const { return segment_->deaths().load(std::memory_order_acquire); }
  // These ask the system about the rank, or about all ranks, and record what has ended.
  // find_out(peer) returns whether the rank has ended. sleep() calls find_out() now and then.
  bool find_out(std::uint32_t peer);
  void find_out();
  // Records that the rank has ended, on behalf of a caller that knows.
  void tell_ended(std::uint32_t peer);

  // Returns whether ranks may have to share processors.
  bool crowded() const { return crowded_; }
  std::uint32_t boxes_given() const { return exchange_.boxes_given(); }
  // These return how often this rank has slept, and how many of these sleeps ended because
  // something came.
  std::uint64_t sleeps() const { return sleeps_; }
  std::uint64_t sleeps_woken() const { return sleeps_woken_; }
  std::uint64_t shared_bytes() const;  // of this rank, as far as allocated
  std::string describe() const;

 private:
  static constexpr std::uint32_t kLooks = 16;

  struct System {
    NodeLink& link;
    // The contract of these functions is in exchange.h.
    bool gone(std::uint32_t peer, std::uint32_t tries);
    void everybody_sees() { link.barrier_.everybody_sees(); }
    void wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word) { link.wake(rank, word); }
    bool make_box(std::uint32_t number);
    static void point() {}
  };

  NodeLink(std::shared_ptr<const Segment> segment, std::uint32_t rank);
  Result<void> make_pipe_to_sleep_by();
  // Publishes what other ranks must know of this one (Member), and marks it as joined.
  void join_in();
  // Wakes the rank, which sleeps on the word or by its pipe.
  void wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word);
  // Returns a descriptor for writing to the rank's pipe. Returns -1 if the rank has no pipe, or has
  // ended.
  int pipe_of(std::uint32_t rank);
  // Returns whether more ranks may run on this rank's processors than there are processors.
  bool is_crowded() const;
  // Tries a copy from another rank, and sets can_read_ and why_not_.
  void find_out_whether_it_can_read();

  std::shared_ptr<const Segment> segment_;
  std::uint32_t rank_;
  System system_{*this};
  Barrier barrier_;
  Exchange<SharedAtomic, System> exchange_;
  Processes processes_;
  Waiting waiting_{WaitLimits{}};
  std::unique_ptr<std::uint64_t> probe_;
  bool can_read_ = false;
  Error why_not_;
  bool crowded_ = false;
  bool fences_ = true;  // some rank has no working barrier
  std::uint32_t deaths_seen_ = 0;
  std::uint64_t sleeps_ = 0, sleeps_woken_ = 0;
  std::uint32_t boxes_made_ = 0;
  Fd pipe_;                // this rank's, to read
  std::vector<Fd> pipes_;  // to write; of others, once woken
};

}  // namespace scela::channel::shm
