// Moves messages while a caller waits, by one thread at a time if several threads may call.
//
// One thread moves messages for all threads that wait. It looks again, yields or sleeps as shared
// memory advises. The others sleep until it has moved something or stops waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm-channel/api/opening.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/messenger/messenger.h"
#include "common/os/process/fork_guard.h"

namespace scela::channel {

class Progress {
 public:
  Progress(const World& world, const ChannelOptions& options, Links links)
      : messenger_(world, options, std::move(links.node), std::move(links.network)),
        failed_(std::move(links.failed)),
        left_(std::move(links.left)),
        several_(options.threads == Threads::multiple) {}

  Messenger& messenger() { return messenger_; }

  // Keeps the channel's state alive after its Channel is gone, for `requests` requests that the
  // program still has. `whole` is that state; it owns this object. Each of these requests, when it
  // is destroyed, calls released() within with(). If released() returns true, the request was the
  // last, and it must call let_go(), which may destroy this object.
  void keep(std::shared_ptr<void> whole, std::size_t requests) {
    whole_ = std::move(whole);
    requests_left_ = requests;
  }
  bool released() { return requests_left_ != 0 && --requests_left_ == 0; }
  void let_go() { const std::shared_ptr<void> last = std::move(whole_); }

  // Returns whether this is a copy in a child process (fork): the channel belongs to the parent.
  bool is_copy() const { return made_here_.is_copy(); }

  // Everything that uses the messenger runs within this function, under the lock.
  template <class Act>
  decltype(auto) with(Act&& act) {
    if (!several_) return act(messenger_);
    const std::lock_guard lock(mutex_);
    // The thread that sleeps for all has not seen what this call leaves to be done.
    struct Waker {
      Progress& progress;
      ~Waker() { progress.wake_sleeper(); }
    } const waker{*this};
    return act(messenger_);
  }

  // Called within with() by a caller that never waits. It moves what can be moved, and checks at
  // intervals whether other ranks have ended, as a caller that waits does. Returns true if
  // something was moved.
  bool poll();
  // Called within with(): other ranks have reported that the rank has ended.
  void mark_exited(int rank);

  // Blocks until `done(messenger)` holds. Returns false if the limit has passed before.
  template <class Done>
  bool wait_until(Done done, const Timeout& limit) {
    Deadline deadline(limit);
    if (!several_) {
      while (!done(messenger_)) {
        if (move_some()) continue;
        if (deadline.over()) {
          look_now_and_then();
          return done(messenger_);
        }
        wait_for_something(deadline);
      }
      return true;
    }
    std::unique_lock lock(mutex_);
    while (!done(messenger_)) {
      if (deadline.over()) {
        // A limit of zero also polls, so a caller that asks repeatedly makes progress.
        if (poll()) tell_others();
        return done(messenger_);
      }
      if (somebody_polls_)
        wait_for_the_other(lock, deadline);
      else
        poll_for_all(lock, deadline);
    }
    changed_.notify_all();  // this thread polls no more
    return true;
  }

 private:
  // A clock costs as much as a few looks, and most waits end within a few looks. So the limit is
  // not checked before these.
  class Deadline {
   public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(const Timeout& limit) : limit_(limit) {}
    // Returns true if the limit has passed. If the limit is above 0, the first kLooks calls return
    // false.
    bool over() {
      if (!limit_) return false;
      if (limit_->count() <= 0) return true;
      if (looks_ < kLooks) {
        ++looks_;
        return false;
      }
      return until() && Clock::now() >= *until_;
    }
    // Returns the time that is left, at least 0, or no value if there is no limit.
    Timeout left() {
      if (!until()) return {};
      return std::max(std::chrono::nanoseconds(0),
                      std::chrono::duration_cast<std::chrono::nanoseconds>(*until_ - Clock::now()));
    }
    // Returns the moment of the limit, counted from the first call, or std::nullopt if there is no
    // limit.
    const std::optional<Clock::time_point>& until() {
      // A limit beyond the range of the clock is no limit.
      if (limit_ && !until_ && *limit_ < Clock::time_point::max() - Clock::now())
        until_ = Clock::now() + *limit_;
      return until_;
    }

   private:
    static constexpr std::uint32_t kLooks = 16;
    const Timeout limit_;
    std::uint32_t looks_ = 0;
    std::optional<Clock::time_point> until_;
  };

  // The caller holds the lock, if there are several threads. wake_sleeper() wakes the thread that
  // sleeps for all; tell_others() also wakes those that wait for that thread.
  void wake_sleeper() {
    if (dozing_) wake();
  }
  void tell_others() {
    wake_sleeper();
    changed_.notify_all();
  }
  // These wait once and return at the latest at the deadline; the caller looks again. They are for
  // a single thread, for a thread while another one polls, and for the thread that polls for all.
  // The first and the last of them also look for ranks that have ended.
  void wait_for_something(Deadline& deadline);
  void wait_for_the_other(std::unique_lock<std::mutex>& lock, Deadline& deadline);
  void poll_for_all(std::unique_lock<std::mutex>& lock, Deadline& deadline);
  // The parts of a sleep, at the node and the network. If arm() returns false, the caller polls
  // once more and does not sleep. doze() needs no lock and returns whether the network may have
  // something, which the caller passes to disarm(). wake() ends doze(), from any thread.
  bool arm();
  bool doze(const Timeout& limit);
  void disarm(bool network_too);
  void wake();
  // Returns true if something was moved. Otherwise the caller may wait.
  bool move_some();
  // Checks whether ranks have ended, and fails what waits for them. look_for_leavers() asks the
  // launcher about ranks that may have ended well. look_now_and_then() does all that at most once
  // in 100 ms.
  void look_for_ends();
  void look_for_leavers();
  void look_now_and_then();

  Messenger messenger_;
  const std::function<bool(int rank)> failed_;
  const std::function<bool(int rank)> left_;
  const bool several_;
  std::vector<bool> taken_for_ended_;              // by rank; empty: none
  std::uint32_t deaths_seen_ = 0;                  // NodeDeaths::count() of last time
  std::uint32_t moved_without_a_look_ = 0;         // polls that have moved something
  std::chrono::nanoseconds looked_{};              // the last look_now_and_then()
  std::chrono::nanoseconds looked_for_leavers_{};  // the last question
  std::chrono::nanoseconds until_leavers_{};       // from that look to the next
  const ForkGuard made_here_;
  std::shared_ptr<void> whole_;
  std::size_t requests_left_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool somebody_polls_ = false;  // a thread is in poll_for_all()
  bool dozing_ = false;          // it is in doze(), without the lock
};

}  // namespace scela::channel
