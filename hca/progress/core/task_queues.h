// Management queues for devices that have none. This state machine decides which requests are held,
// what a queue waits for, what is released, and in which order everything completes. Its rules are
// those of the adapter's own interpreter (hca/core/interp/management_tasks.h); one suite of cases
// tests both (tests/verbs/tasks). DeviceTasks uses it.
//
// It knows no verbs, no memory and no threads. It asks a Host to act, and its caller reports what
// has happened. It has no lock: DeviceTasks calls it under its own. The numbers of queue pairs and
// counts are never used again.
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

using CountId = std::uint32_t;  // a completion queue and its counters
using PairId = std::uint32_t;   // a queue pair

// The part of a request or a task that only the host understands.
struct Payload {
  virtual ~Payload() = default;
};

// A request goes to the device; the others are tasks. A wait ends once a count has reached a total.
// The enable tasks release held entries of another queue. A calc combines vectors of numbers.
enum class Kind : std::uint8_t { request, wait, enable_send, enable_receive, calc };

struct Entry {
  Kind kind = Kind::request;
  bool signalled = false;
  std::uint64_t wr_id = 0;
  std::uint32_t target = 0;  // wait: CountId; enable: PairId
  std::uint64_t count = 0;   // wait: until this total; enable: how many
  std::unique_ptr<Payload> payload = nullptr;
  // The rest belongs to TaskQueues.
  //
  // The entry's number in its queue, counted from 0.
  std::uint64_t serial = 0;
  bool in_flight = false;  // with the device or the calculator
  // It is over. It completes after the entries before it.
  bool done = false;
  Status status = Status::success;
};

// No function of a host may call TaskQueues back.
class Host {
 public:
  // `refused`: the request fails and its queue pair with it.
  enum class Posted : std::uint8_t { yes, full, refused };

  virtual ~Host() = default;
  // Gives a request to the device. `full`: the device takes it only after a completion.
  virtual Posted post_send(PairId pair, const Entry& entry) = 0;
  virtual Posted post_receive(PairId pair, const Entry& entry) = 0;
  // Returns std::nullopt if the calculation takes long. TaskQueues::calculated() is called once it
  // ends.
  virtual std::optional<Status> calculate(PairId pair, const Entry& entry) = 0;
  // Hands a completion to the program. Returns false if the completion queue overran: the program
  // will not see the completion.
  virtual bool complete(CountId count, PairId pair, const Entry& entry, bool receives) = 0;
  // A task has failed, and its connection with it. The device does not know that yet.
  virtual void broken(PairId pair) = 0;
  // Called when a change occurs: `wanted` says whether a queue pair now waits for completions of
  // this queue.
  virtual void watch(CountId count, bool wanted) = 0;
};

class TaskQueues {
 public:
  struct Shape {
    // The completion queues of sends and of receives; 0: none.
    CountId send_count = 0;
    CountId recv_count = 0;
    // Entries of such a queue wait until an enable task releases them.
    bool holds_sends = false;
    bool holds_receives = false;
    // Reliable: a failure ends both halves. If false, it ends the sending half only.
    bool connected = true;
    // The capacity of each queue, in entries.
    std::size_t max_sends = 0;
    std::size_t max_receives = 0;
  };

  explicit TaskQueues(Host& host) : host_(host) {}

  // Adds a completion queue with no completions.
  CountId add_count();
  // Every WAIT for this count fails.
  void remove_count(CountId count);
  // Adds a queue pair. The counts in `shape` must exist.
  PairId add_pair(const Shape& shape);
  // Generates no completions.
  void remove_pair(PairId id);

  // Returns the total number of completions at which a WAIT that is posted now ends; `last` moves
  // the base. `completions` are counted from the base, which starts at 0.
  std::uint64_t claim(CountId id, std::uint64_t completions, bool last);

  // These three return false if the queue is full; the posting functions then drop the entry.
  // Nothing is executed before run().
  bool has_room_to_send(PairId id) const;
  bool post_send(PairId id, Entry entry);
  bool post_receive(PairId id, Entry entry);
  // Returns whether a request may go to the device at once, because nothing stands before it. A
  // caller that has given the request to the device then calls sent_now().
  bool may_send_now(PairId id) const;
  // Returns the serial of the next send. sent_now() gives it to its entry.
  std::uint64_t next_serial(PairId id) const;
  void sent_now(PairId id, Entry entry);
  // These two functions do so for receives.
  bool may_receive_now(PairId id) const;
  void received_now(PairId id);

  // Returns the oldest request that the device has, or null. Sends complete in their order.
  const Entry* oldest_in_flight(PairId id) const;
  // The device has completed the oldest send, or one receive, of the queue pair.
  void sent(PairId id, Status status);
  void received(PairId id, Status status);
  // A completion has come to this queue that the program will see, from any queue pair.
  void counted(CountId id);
  // A calculation has ended for which the host returned std::nullopt. If its entry has gone,
  // nothing happens.
  void calculated(PairId id, std::uint64_t serial, Status status);

  // The device's queue pair has entered the error state, was reset, or was set to RTS again.
  void fail(PairId id);
  void reset(PairId id);
  void recover(PairId id);

  // Executes at most `steps` requests and tasks. Returns true if more can be executed.
  bool run(int steps);

  // Returns the completions since add_count(), or 0 if there is no such queue.
  std::uint64_t produced(CountId id) const;

 private:
  // A queue pair that waits until a count has reached `until`.
  struct Parked {
    PairId pair = 0;
    std::uint64_t until = 0;
  };
  struct Count {
    std::uint64_t produced = 0;
    // Waits are counted from `base`. `most` is the greatest wait since the base moved.
    std::uint64_t base = 0;
    std::uint64_t most = 0;
    std::vector<Parked> parked;
    std::vector<PairId> blocked;  // their device queues were full
    // The queue pairs that wait for completions which only a poll finds.
    int watchers = 0;
  };
  struct Queue {
    std::deque<Entry> entries;  // oldest first; `started` of them begun
    std::size_t started = 0;
    std::size_t done = 0;  // begun and over, but not yet completed
    std::uint64_t next_serial = 0;
    // The capacity, in entries.
    std::size_t most = 0;
    bool held = false;
    std::uint64_t enabled = 0;  // serials below this may be executed
    bool failed = false;
    // It is one of the watchers of its completion queue.
    bool watching = false;
  };
  struct Pair {
    PairId id = 0;
    Shape shape;
    Queue send;
    Queue receive;
    std::size_t outstanding = 0;  // receives that the device has
    // The count that its next task waits for; 0: none.
    CountId parked_on = 0;
    // The device was full: it waits for a completion.
    bool blocked = false;
    // A task has failed; the entries before it are still on their way.
    bool stopped = false;
    // It is in `runnable_`.
    bool scheduled = false;
  };

  // Both return null if there is no such queue pair.
  Pair* find(PairId id);
  const Pair* find(PairId id) const;
  void schedule(Pair& pair);
  // Executes what it can. Returns how many of `steps` are left.
  int step(Pair& pair, int steps);
  // Begins the next entry of the send queue. Returns false if the queue waits or is in error.
  bool begin(Pair& pair, Entry& entry);
  // Returns true if the wait has ended. Returns false if it goes on, or failed because the count is
  // gone.
  bool wait(Pair& pair, const Entry& entry);
  // Executes an enable task, and returns the status of its completion.
  Status enable(const Entry& entry);
  // The send entry is over. It completes after those before it, so `entry` may be invalid
  // afterwards.
  void finish(Pair& pair, Entry& entry, Status status);
  // Completes the oldest sends that are over; in a failed queue it flushes the others.
  void drain(Pair& pair);
  // Flushes the held receives of a failed queue, after the device has returned its own.
  void drop_receives(Pair& pair);
  // Marks the send queue as failed and flushes it.
  void break_sends(Pair& pair);
  // Hands a completion to the host, and counts it if the program will see it.
  void complete(CountId count, Pair& pair, const Entry& entry, bool receives);
  // The queue pair waits for no count any more.
  void unpark(Pair& pair);
  // Updates `watching` of both queues.
  void rewatch(Pair& pair);
  // Adds `change`, 1 or -1, to the watchers, and tells the host if that matters.
  void watch(CountId id, int change);
  // Returns whether the queue has an entry that was not begun and is not held.
  static bool may_begin(const Queue& queue);

  Host& host_;
  std::uint32_t next_id_ = 1;
  std::map<CountId, Count> counts_;
  std::map<PairId, Pair> pairs_;
  std::deque<PairId> runnable_;
};

}  // namespace scela::hca::progress
