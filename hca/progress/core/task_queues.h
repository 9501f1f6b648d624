// Management queues for devices that know none: which requests are held, what is waited for, what
// is released, and in which order all of it completes. The rules are those of the adapter's own
// interpreter (hca/core/tasks.cpp); one suite of cases judges both (tests/verbs/tasks).
//
// Knows no verbs, memory or thread: what is to be done it asks of a Host, what has happened it is
// told. Numbers of queues and counts are not used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hca/core/values.h"

namespace scela::hca::progress {

using CountId = std::uint32_t;  // a completion queue, as far as it is counted
using PairId = std::uint32_t;   // a queue pair

// What only the host understands of a request or a task.
struct Payload {
  virtual ~Payload() = default;
};

enum class Kind : std::uint8_t { request, wait, enable_send, enable_receive, calc };

struct Entry {
  Kind kind = Kind::request;
  bool signalled = false;
  std::uint64_t wr_id = 0;
  std::uint32_t target = 0;  // wait: CountId; enable: PairId
  std::uint64_t count = 0;   // wait: how many have ever come once it is over; enable: how many
  std::unique_ptr<Payload> payload = nullptr;
  // Of this folder.
  std::uint64_t serial = 0;
  bool in_flight = false;  // the device, or who calculates, has it
  bool done = false;
  Status status = Status::success;
};

// None of these may call back.
class Host {
 public:
  enum class Posted : std::uint8_t { yes, full, refused };

  virtual ~Host() = default;
  // A request to the device. `full`: not now, but after a completion.
  virtual Posted post_send(PairId pair, const Entry& entry) = 0;
  virtual Posted post_receive(PairId pair, const Entry& entry) = 0;
  // Nothing: it takes long; TaskQueues::calculated() is called later.
  virtual std::optional<Status> calculate(PairId pair, const Entry& entry) = 0;
  // For the program. False: the completion queue ran over, so that nobody will see it.
  virtual bool complete(CountId count, PairId pair, const Entry& entry, bool receives) = 0;
  // A task has failed, and with it a connection that the device still believes in.
  virtual void broken(PairId pair) = 0;
  // Whether something waits for completions of this queue, now that this has changed.
  virtual void watch(CountId count, bool wanted) = 0;
};

class TaskQueues {
 public:
  struct Shape {
    CountId send_count = 0;
    CountId recv_count = 0;
    bool holds_sends = false;
    bool holds_receives = false;
    bool connected = true;  // reliable: a failure ends both halves, not the sending one alone
    std::size_t most_sends = 0;
    std::size_t most_receives = 0;
  };

  explicit TaskQueues(Host& host) : host_(host) {}

  CountId add_count();
  // Who waits for it fails.
  void remove_count(CountId count);
  PairId add_pair(const Shape& shape);
  // Without completions.
  void remove_pair(PairId id);

  // When a WAIT that is posted now is over; `last` moves the base.
  std::uint64_t claim(CountId id, std::uint64_t completions, bool last);

  // False: the queue is full.
  bool has_room_to_send(PairId id) const;
  bool post_send(PairId id, Entry entry);
  bool post_receive(PairId id, Entry entry);
  // Whether a request may go to the device at once, because nothing stands before it; who gives it
  // there then says so.
  bool may_send_now(PairId id) const;
  std::uint64_t next_serial(PairId id) const;
  void sent_now(PairId id, Entry entry);
  bool may_receive_now(PairId id) const;
  void received_now(PairId id);

  // The oldest request that the device has, if any: sends complete in their order.
  const Entry* oldest_in_flight(PairId id) const;
  void sent(PairId id, Status status);
  void received(PairId id, Status status);
  // A completion came that the program will see, of whatever queue.
  void counted(CountId id);
  void calculated(PairId id, std::uint64_t serial, Status status);

  // The device's queue pair is in error, begins anew, or goes on.
  void fail(PairId id);
  void reset(PairId id);
  void recover(PairId id);

  // Does what can be done, `steps` requests and tasks at most. True: there is more.
  bool run(int steps);

  std::uint64_t produced(CountId id) const;

 private:
  struct Parked {
    PairId pair = 0;
    std::uint64_t until = 0;
  };
  struct Count {
    std::uint64_t produced = 0;
    std::uint64_t base = 0;
    std::uint64_t most = 0;
    std::vector<Parked> parked;
    std::vector<PairId> blocked;  // whose device queue was full
    int watchers = 0;
  };
  struct Queue {
    std::deque<Entry> entries;  // oldest first; the first `started` are begun
    std::size_t started = 0;
    std::size_t done = 0;  // of them; they wait for those before them
    std::uint64_t next_serial = 0;
    std::size_t most = 0;
    bool held = false;
    std::uint64_t enabled = 0;  // serials below this may be executed
    bool failed = false;
    bool watching = false;
  };
  struct Pair {
    PairId id = 0;
    Shape shape;
    Queue send;
    Queue receive;
    std::size_t outstanding = 0;  // receives that the device has
    CountId parked_on = 0;
    bool blocked = false;
    bool stopped = false;  // a task has failed, and those before it are on their way
    bool scheduled = false;
  };

  Pair* find(PairId id);
  const Pair* find(PairId id) const;
  void schedule(Pair& pair);
  int step(Pair& pair, int steps);
  bool begin(Pair& pair, Entry& entry);
  bool wait(Pair& pair, const Entry& entry);
  Status enable(const Entry& entry);
  void finish(Pair& pair, Entry& entry, Status status);
  void drain(Pair& pair);
  void drop_receives(Pair& pair);
  void break_sends(Pair& pair);
  void complete(CountId count, Pair& pair, const Entry& entry, bool receives);
  void unpark(Pair& pair);
  void rewatch(Pair& pair);
  void watch(CountId id, int change);
  static bool may_begin(const Queue& queue);

  Host& host_;
  std::uint32_t next_id_ = 1;
  std::map<CountId, Count> counts_;
  std::map<PairId, Pair> pairs_;
  std::deque<PairId> runnable_;
};

}  // namespace scela::hca::progress
