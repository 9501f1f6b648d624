// Management queues for devices that have none. This state machine decides which requests are held,
// what a queue waits for, what is released, and in which order everything completes. Its rules are
// those of the adapter's own interpreter (hca/core/interp/management_tasks.h); one suite of cases
// tests both (tests/verbs/tasks). DeviceTasks uses it.
//
// It knows no verbs, no memory and no threads. It asks a Host to act, and its caller reports what
// has happened. It has no lock: DeviceTasks calls it under its own. The numbers of queue pairs and
// counts are never used again.
//
// A pair is a queue pair. A count is a completion queue, of which only the number of completions
// matters. An entry is a request or a task that was posted and is not completed. An entry is held
// if it waits until an enable task releases it. A queue pair is parked while its next task waits
// for a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hca/core/wire/values.h"

namespace scela::hca::progress {

// The number of a count, and of a queue pair. 0 is none.
using CountId = std::uint32_t;
using PairId = std::uint32_t;

// The part of a request or a task that only the host understands. The host derives from it.
struct Payload {
  virtual ~Payload() = default;
};

// The kind of an entry. A request goes to the device; the others are tasks. A wait ends once a
// count has reached a total. The enable tasks release held entries of another queue pair. A calc
// combines vectors of numbers.
enum class Kind : std::uint8_t { request, wait, enable_send, enable_receive, calc };

// A request or a task.
struct Entry {
  Kind kind = Kind::request;
  bool signalled = false;  // it completes also on success
  std::uint64_t wr_id = 0;
  // A wait's CountId, or the PairId of an enable task.
  std::uint32_t target = 0;
  // The total of completions at which a wait ends (claim()), or how many entries an enable task
  // releases.
  std::uint64_t count = 0;
  std::unique_ptr<Payload> payload = nullptr;
  // These members belong to TaskQueues. `serial` is the entry's number in its queue, counted from
  // 0.
  std::uint64_t serial = 0;
  // The device has it, or its calculation goes on.
  bool in_flight = false;
  // It is over, with this `status`. It completes after the entries before it.
  bool done = false;
  Status status = Status::success;
};

// The device, as TaskQueues uses it. No function of a host may call TaskQueues back.
class Host {
 public:
  // The result of a post. `yes`: the device has the request. `full`: the device takes it only after
  // a completion. `refused`: the request fails and its queue pair with it.
  enum class Posted : std::uint8_t { yes, full, refused };

  virtual ~Host() = default;
  // Give a request to the send or the receive queue of the device's queue pair.
  virtual Posted post_send(PairId pair, const Entry& entry) = 0;
  virtual Posted post_receive(PairId pair, const Entry& entry) = 0;
  // Executes a calc task and returns its status. Returns std::nullopt if the calculation takes
  // long: TaskQueues::calculated() is called once it ends.
  virtual std::optional<Status> calculate(PairId pair, const Entry& entry) = 0;
  // Hands the completion of an entry of `pair` to the program, through the completion queue
  // `count`. `receives` says that the entry is a receive request. Returns false if the completion
  // queue overran: the program will not see the completion.
  virtual bool complete(CountId count, PairId pair, const Entry& entry, bool receives) = 0;
  // Called when a task, or a post, has failed, and its connection with it. The device does not know
  // that yet, and the host must set its queue pair to the error state.
  virtual void broken(PairId pair) = 0;
  // Called when this changes: `wanted` is true if a queue pair waits for completions of this
  // completion queue. The host must then look for them, even if the program does not poll it.
  virtual void watch(CountId count, bool wanted) = 0;
};

// All queue pairs and counts of one DeviceTasks. Unknown numbers of queue pairs are ignored.
class TaskQueues {
 public:
  // The properties of a new queue pair.
  struct PairProperties {
    // The completion queues of sends and of receives; 0: none.
    CountId send_count = 0;
    CountId recv_count = 0;
    // True if entries of that queue are held.
    bool holds_sends = false;
    bool holds_receives = false;
    // True for a reliable queue pair: a failure ends both halves. If false, it ends the sending
    // half only.
    bool connected = true;
    // The capacity of each queue, in entries.
    std::size_t max_sends = 0;
    std::size_t max_receives = 0;
  };

  // `host` must live as long as this object.
  explicit TaskQueues(Host& host) : host_(host) {}

  // Adds a completion queue with no completions, and returns its number.
  CountId add_count();
  // Removes a completion queue: every WAIT for it fails.
  void remove_count(CountId count);
  // Adds a queue pair and returns its number. The counts in `shape` must exist.
  PairId add_pair(const PairProperties& shape);
  // Removes a queue pair, without completions for the entries that are left.
  void remove_pair(PairId id);

  // Returns the total number of completions at which a WAIT that is posted now ends, for
  // Entry::count. `completions` are counted from the count's base, which starts at 0. If `last` is
  // true, the base moves by the largest WAIT since it moved before.
  std::uint64_t claim(CountId id, std::uint64_t completions, bool last);

  // Returns true if another entry can be posted to the send queue.
  bool has_room_to_send(PairId id) const;
  // Append an entry to the send or the receive queue. They return false, and drop the entry, if the
  // queue is full. Nothing is executed before run().
  bool post_send(PairId id, Entry entry);
  bool post_receive(PairId id, Entry entry);
  // Returns true if a request may go to the device at once, because no entry before it waits. A
  // caller that has given the request to the device then calls sent_now().
  bool may_send_now(PairId id) const;
  // Returns the serial that the next entry of the send queue gets.
  std::uint64_t next_serial(PairId id) const;
  // Notes a request that the caller has given to the device itself.
  void sent_now(PairId id, Entry entry);
  // These two functions do so for receives. received_now() notes only that the device has one more.
  bool may_receive_now(PairId id) const;
  void received_now(PairId id);

  // Returns the oldest entry of the send queue if it is a request that the device has, or else
  // null. Sends complete in their order.
  const Entry* oldest_in_flight(PairId id) const;
  // Reports that the device has completed the oldest send, or one receive, of the queue pair with
  // this status.
  void sent(PairId id, Status status);
  void received(PairId id, Status status);
  // Reports a completion in this completion queue that the program will see, from any queue pair.
  void counted(CountId id);
  // Reports the end of a calculation for which the host returned std::nullopt. `serial` is that of
  // its entry. If the entry has gone, nothing happens.
  void calculated(PairId id, std::uint64_t serial, Status status);

  // Report a new state of the device's queue pair: the error state, RESET, or RTS again.
  void fail(PairId id);
  void reset(PairId id);
  void recover(PairId id);

  // Executes at most `steps` requests and tasks that can be executed. Returns true if more can be
  // executed.
  bool run(int steps);

  // Returns the number of completions since add_count(), or 0 if there is no such queue.
  std::uint64_t produced(CountId id) const;

 private:
  // A queue pair that waits until a count has reached the total `until`.
  struct Parked {
    PairId pair = 0;
    std::uint64_t until = 0;
  };
  // A completion queue.
  struct Count {
    std::uint64_t produced = 0;
    // WAITs are counted from `base`. `most` is the largest WAIT since the base moved.
    std::uint64_t base = 0;
    std::uint64_t most = 0;
    std::vector<Parked> parked;
    // The queue pairs that found the device's send queue full.
    std::vector<PairId> blocked;
    // The queue pairs that wait for completions which only a poll finds.
    int watchers = 0;
  };
  // A send or receive queue.
  struct Queue {
    std::deque<Entry> entries;  // oldest first; `started` of them begun
    std::size_t started = 0;
    std::size_t done = 0;  // entries that are over
    std::uint64_t next_serial = 0;
    // The capacity, in entries.
    std::size_t most = 0;
    bool held = false;          // its entries are held
    std::uint64_t enabled = 0;  // serials below this may be executed
    bool failed = false;        // its entries are flushed
    // It is one of the watchers of its completion queue (Count::watchers).
    bool watching = false;
  };
  // A queue pair.
  struct Pair {
    PairId id = 0;
    PairProperties shape;
    Queue send;
    Queue receive;
    std::size_t outstanding = 0;  // receives that the device has
    // The count that its next task waits for; 0: none.
    CountId parked_on = 0;
    // The device's send queue was full: it waits for a completion.
    bool blocked = false;
    // A task or a request has failed; the entries before it are still on their way.
    bool stopped = false;
    // It is in `runnable_`.
    bool scheduled = false;
  };

  // Return the queue pair, or null if there is none.
  Pair* find(PairId id);
  const Pair* find(PairId id) const;
  // Puts the queue pair on the list of those that run() executes.
  void schedule(Pair& pair);
  // Executes what the queue pair can, at most `steps` entries. Returns how many of `steps` are
  // left.
  int step(Pair& pair, int steps);
  // Begins the next entry of the send queue. Returns true if the queue can go on, and false if it
  // waits or is in error.
  bool begin(Pair& pair, Entry& entry);
  // Returns true if the wait has ended. Returns false if it goes on, or failed because the count is
  // gone.
  bool wait(Pair& pair, const Entry& entry);
  // Executes an enable task, and returns the status of its completion.
  Status enable(const Entry& entry);
  // Sets the status of a send entry that is over. It completes after those before it, so `entry`
  // may be invalid afterwards.
  void finish(Pair& pair, Entry& entry, Status status);
  // Completes the oldest sends that are over. In a failed queue it flushes the others.
  void drain(Pair& pair);
  // Flushes the held receives of a failed queue, after the device has returned its own.
  void drop_receives(Pair& pair);
  // Marks the send queue as failed and flushes it.
  void break_sends(Pair& pair);
  // Hands a completion to the host, and counts it if the program will see it.
  void complete(CountId count, Pair& pair, const Entry& entry, bool receives);
  // Removes the queue pair from the count that it waits for, if any.
  void unpark(Pair& pair);
  // Updates `watching` of both queues, and the host if that matters.
  void rewatch(Pair& pair);
  // Adds `change`, 1 or -1, to the watchers of a count. Tells the host if their number becomes 0 or
  // is not 0 any more.
  void watch(CountId id, int change);
  // Returns true if the queue has an entry that was not begun and is not held.
  static bool may_begin(const Queue& queue);

  Host& host_;
  std::uint32_t next_id_ = 1;  // of a count or a queue pair
  std::map<CountId, Count> counts_;
  std::map<PairId, Pair> pairs_;
  std::deque<PairId> runnable_;  // the list of schedule()
};

}  // namespace scela::hca::progress
