// The thread executor (P1): a thread moves the runs of a process beside the program. The program's
// threads put orders into a list under the lock. The progress thread alone uses the runs and the
// transport, except for wake().
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/executors/factory.h"
#include "collectives/executors/looking.h"
#include "collectives/executors/run_set.h"
#include "collectives/executors/thread_binding.h"
#include "collectives/executors/thread_placement.h"

namespace scela::collectives {

namespace {

// The time between two looks while a context is given up: other ranks may still send messages
// there, which the thread throws away.
constexpr std::chrono::milliseconds kBetweenLooks{50};

class ProgressThread final : public Executor, private RunContexts {
 public:
  ProgressThread(std::unique_ptr<Transport> transport, const ThreadPlacement& placement,
                 std::unique_ptr<Transport> doorbell)
      : transport_(std::move(transport)),
        doorbell_(std::move(doorbell)),
        runs_(*transport_),
        thread_([this, placement] {
          {
            std::string where = bind_this_thread(placement);
            const std::lock_guard lock(mutex_);
            where_ = std::move(where);
          }
          changed_.notify_all();
          loop();
        }) {
    // The constructor waits for where_, so that describe() is right from the start.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !where_.empty(); });
  }

  ~ProgressThread() override {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
      stir();
    }
    thread_.join();
  }

  std::string_view name() const override { return name_of(ExecutorKind::thread); }

  void start(Run& run) override {
    const std::lock_guard lock(mutex_);
    order(Does::start, &run);
    run.claim();  // before the thread can look at the order
  }

  bool test(Run& run) override { return run.is_over(); }

  std::size_t wait_any(std::span<Run* const> runs, Timeout limit) override {
    std::size_t found = first_over(runs);
    if (found != runs.size() || !is_any(runs)) return found;
    const Deadline deadline(limit);
    std::unique_lock lock(mutex_);
    const auto is_there = [&] { return (found = first_over(runs)) != runs.size(); };
    ++waiters_;
    if (deadline.until())
      changed_.wait_until(lock, *deadline.until(), is_there);
    else
      changed_.wait(lock, is_there);
    --waiters_;
    return found;
  }

  // Even with no run, messages that no run receives may have come; the thread throws them away.
  void progress() override {
    const std::lock_guard lock(mutex_);
    if (sleep_ != Sleep::for_runs) return;
    poked_ = true;
    stir();
  }

  bool add_requests(std::vector<Request*>& all) override {
    if (!doorbell_ || !doorbell_->add_requests({}, all)) return false;
    const std::lock_guard lock(mutex_);
    listens_ = true;
    return true;
  }

  void cancel(Run& run, Fault why) override {
    const std::lock_guard lock(mutex_);
    order(Does::cancel, &run).why = std::move(why);
  }
  RunContexts& contexts() override { return *this; }
  std::string describe() const override { return where_; }

 private:
  void give_up(const AbortedContext& what, std::span<const int> ranks) override {
    tell(Does::give_up, what, ranks);
  }
  void leave(const AbortedContext& what, std::span<const int> ranks) override {
    tell(Does::leave, what, ranks);
  }
  void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
             std::uint16_t kind) override {
    AbortedContext what;
    what.kind = kind;
    what.context = context;
    what.begun = number;
    tell(Does::count, what, ranks);
  }
  void forget(ContextId context) override {
    AbortedContext what;
    what.context = context;
    tell(Does::forget, what, {});
  }
  const AbortedContext* given_up(ContextId context) const override {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(given_up_.rbegin(), given_up_.rend(),
                     [&](const AbortedContext& what) { return what.context == context; });
    return found == given_up_.rend() ? nullptr : &*found;
  }

  // Orders are obeyed in the order in which they were given, because a run that is over may have
  // been started again.
  enum class Does : unsigned char { start, cancel, give_up, leave, count, forget };
  struct Order {
    Does does = Does::start;
    Run* run = nullptr;  // for start and cancel
    Fault why;
    AbortedContext what;  // for the other orders
    std::vector<int> ranks;
  };
  enum class Sleep : unsigned char { none, for_runs, for_messages };

  // The caller holds the lock. Each order is allocated by itself: telling other ranks that memory
  // is exhausted must not need one large block.
  Order& order(Does does, Run* run) {
    if (unused_.empty())
      inbox_.emplace_back();
    else
      inbox_.splice(inbox_.end(), unused_, unused_.begin());
    Order& given = inbox_.back();
    given.does = does;
    given.run = run;
    stir();
    return given;
  }
  void tell(Does does, const AbortedContext& what, std::span<const int> ranks) {
    const std::lock_guard lock(mutex_);
    Order& given = order(does, nullptr);
    given.what = what;
    given.ranks.assign(ranks.begin(), ranks.end());
  }
  void obey(Order& given) {
    switch (given.does) {
      case Does::start:
        return runs_.add(*given.run);
      case Does::cancel:
        return runs_.cancel(*given.run, std::move(given.why));
      case Does::give_up:
        return runs_.give_up(given.what, given.ranks);
      case Does::leave:
        return runs_.leave(given.what, given.ranks);
      case Does::count:
        return runs_.count(given.what.context, given.what.begun, given.ranks, given.what.kind);
      case Does::forget:
        return runs_.forget(given.what.context);
    }
  }

  // Moves the runs, and publishes the contexts given up for given_up(). Returns true if a run has
  // ended.
  bool advance() {
    const bool ended = runs_.advance();
    if (runs_.all_given_up().size() == published_) return ended;
    const std::lock_guard lock(mutex_);
    for (; published_ < runs_.all_given_up().size(); ++published_)
      given_up_.push_back(runs_.all_given_up()[published_]);
    return ended;
  }

  // Makes the thread look at its orders soon. The caller holds the lock.
  void stir() {
    if (sleep_ == Sleep::for_runs) changed_.notify_all();
    if (sleep_ == Sleep::for_messages) transport_->wake();
    sleep_ = Sleep::none;  // once is enough
  }

  void loop() {
    std::list<Order> orders;
    while (take(orders)) {
      for (Order& given : orders) {
        obey(given);
        given = {};
      }
      const bool told = !orders.empty();
      if (advance() || told) {
        const std::lock_guard lock(mutex_);
        if (waiters_ != 0) changed_.notify_all();
        if (listens_) doorbell_->wake();
        listens_ = false;  // a caller that looked in vain asks again
        continue;
      }
      if (falls_asleep()) {
        runs_.wait({});
        const std::lock_guard lock(mutex_);
        sleep_ = Sleep::none;
      }
    }
  }

  // Swaps the obeyed orders for the new ones. If no run is under way, it waits for orders. Returns
  // false if the thread must end.
  bool take(std::list<Order>& orders) {
    std::unique_lock lock(mutex_);
    unused_.splice(unused_.begin(), orders);
    const auto has_orders = [this] { return stops_ || !inbox_.empty(); };
    const auto stirred = [&] { return poked_ || has_orders(); };
    while (runs_.empty() && !has_orders()) {
      sleep_ = Sleep::for_runs;
      if (runs_.drops())
        changed_.wait_for(lock, kBetweenLooks, stirred);
      else
        changed_.wait(lock, stirred);
      sleep_ = Sleep::none;
      poked_ = false;
      if (has_orders()) break;
      lock.unlock();
      advance();
      lock.lock();
    }
    orders.swap(inbox_);
    return !orders.empty() || !runs_.empty();
  }

  // Returns false if an order has come meanwhile, or if there is no run.
  bool falls_asleep() {
    const std::lock_guard lock(mutex_);
    if (runs_.empty() || !inbox_.empty()) return false;
    sleep_ = Sleep::for_messages;
    return true;
  }

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Transport> doorbell_;  // the callers', except for wake()
  RunSet runs_;                          // used by the thread only
  std::size_t published_ = 0;            // used by the thread only
  std::deque<AbortedContext> given_up_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Order> inbox_;
  std::list<Order> unused_;  // obeyed orders, to be used again
  std::string where_;
  Sleep sleep_ = Sleep::none;
  bool stops_ = false;
  bool poked_ = false;
  bool listens_ = false;  // a caller waits for the doorbell
  int waiters_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_thread(std::unique_ptr<Transport> transport,
                                              const ThreadPlacement& placement,
                                              std::unique_ptr<Transport> doorbell) {
  // The new thread inherits a mask that blocks all signals: they are for the program's threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<Executor> made;
  std::string why;
  try {
    made = std::make_unique<ProgressThread>(std::move(transport), placement, std::move(doorbell));
  } catch (const std::system_error& failure) {
    why = failure.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) return made;
  return fail({ErrorKind::io, "start a progress thread for collective operations", "", why,
               "let the program poll instead, or see 'ulimit -u'"});
}

}  // namespace scela::collectives
