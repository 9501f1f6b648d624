#include "hca/progress/core/task_queues.h"

#include <algorithm>
#include <utility>

namespace scela::hca::progress {

CountId TaskQueues::add_count() {
  counts_.emplace(next_id_, Count{});
  return next_id_++;
}

void TaskQueues::remove_count(CountId count) {
  const auto found = counts_.find(count);
  if (found == counts_.end()) return;
  const Count gone = std::move(found->second);
  counts_.erase(found);
  for (const Parked& parked : gone.parked)
    if (Pair* pair = find(parked.pair)) {
      pair->parked_on = 0;
      schedule(*pair);
    }
}

PairId TaskQueues::add_pair(const PairProperties& shape) {
  Pair pair;
  pair.id = next_id_;
  pair.shape = shape;
  pair.send.held = shape.holds_sends;
  pair.send.most = shape.max_sends;
  pair.receive.held = shape.holds_receives;
  pair.receive.most = shape.max_receives;
  pairs_.emplace(next_id_, std::move(pair));
  return next_id_++;
}

void TaskQueues::remove_pair(PairId id) {
  Pair* pair = find(id);
  if (!pair) return;
  reset(id);
  pairs_.erase(id);
}

std::uint64_t TaskQueues::claim(CountId id, std::uint64_t completions, bool last) {
  Count& count = counts_[id];
  count.most = std::max(count.most, completions);
  const std::uint64_t until = count.base + completions;
  if (last) count.base += std::exchange(count.most, 0);
  return until;
}

bool TaskQueues::has_room_to_send(PairId id) const {
  const Pair* pair = find(id);
  return pair && pair->send.entries.size() < pair->send.most;
}

bool TaskQueues::post_send(PairId id, Entry entry) {
  Pair* pair = find(id);
  if (!pair || !has_room_to_send(id)) return false;
  entry.serial = pair->send.next_serial++;
  pair->send.entries.push_back(std::move(entry));
  schedule(*pair);
  return true;
}

bool TaskQueues::post_receive(PairId id, Entry entry) {
  Pair* pair = find(id);
  if (!pair || pair->receive.entries.size() + pair->outstanding >= pair->receive.most) return false;
  entry.serial = pair->receive.next_serial++;
  pair->receive.entries.push_back(std::move(entry));
  schedule(*pair);
  return true;
}

bool TaskQueues::may_send_now(PairId id) const {
  const Pair* pair = find(id);
  if (!pair || pair->send.held || pair->send.failed || pair->stopped || pair->blocked) return false;
  return pair->send.started == pair->send.entries.size() && has_room_to_send(id) &&
         (pair->send.entries.empty() || pair->send.entries.back().kind == Kind::request ||
          pair->send.entries.back().done);
}

std::uint64_t TaskQueues::next_serial(PairId id) const {
  const Pair* pair = find(id);
  return pair ? pair->send.next_serial : 0;
}

void TaskQueues::sent_now(PairId id, Entry entry) {
  Pair* pair = find(id);
  if (!pair) return;
  entry.serial = pair->send.next_serial++;
  entry.in_flight = true;
  pair->send.entries.push_back(std::move(entry));
  ++pair->send.started;
}

bool TaskQueues::may_receive_now(PairId id) const {
  const Pair* pair = find(id);
  return pair && !pair->receive.held && !pair->receive.failed && pair->receive.entries.empty();
}

void TaskQueues::received_now(PairId id) {
  if (Pair* pair = find(id)) {
    ++pair->receive.next_serial;
    ++pair->outstanding;
  }
}

const Entry* TaskQueues::oldest_in_flight(PairId id) const {
  const Pair* pair = find(id);
  if (!pair || pair->send.entries.empty()) return nullptr;
  const Entry& front = pair->send.entries.front();
  return front.in_flight && front.kind == Kind::request ? &front : nullptr;
}

void TaskQueues::sent(PairId id, Status status) {
  Pair* pair = find(id);
  if (!pair || !oldest_in_flight(id)) return;
  finish(*pair, pair->send.entries.front(), status);
}

void TaskQueues::received(PairId id, Status status) {
  Pair* pair = find(id);
  if (!pair) return;
  if (pair->outstanding > 0) --pair->outstanding;
  if (status != Status::success) {
    fail(id);
  } else if (pair->receive.failed) {
    drop_receives(*pair);
  }
}

void TaskQueues::counted(CountId id) {
  const auto found = counts_.find(id);
  if (found == counts_.end()) return;
  Count& count = found->second;
  ++count.produced;
  for (const Parked& parked : count.parked) {
    Pair* pair = parked.until <= count.produced ? find(parked.pair) : nullptr;
    if (pair) schedule(*pair);
  }
}

void TaskQueues::calculated(PairId id, std::uint64_t serial, Status status) {
  Pair* pair = find(id);
  if (!pair) return;
  const auto found = std::ranges::find(pair->send.entries, serial, &Entry::serial);
  // The queue may have been reset meanwhile.
  if (found == pair->send.entries.end() || !found->in_flight) return;
  finish(*pair, *found, status);
  schedule(*pair);
}

void TaskQueues::fail(PairId id) {
  Pair* pair = find(id);
  if (!pair) return;
  pair->receive.failed = true;
  break_sends(*pair);
  drop_receives(*pair);
}

void TaskQueues::break_sends(Pair& pair) {
  pair.send.failed = true;
  unpark(pair);
  drain(pair);
}

void TaskQueues::reset(PairId id) {
  Pair* pair = find(id);
  if (!pair) return;
  unpark(*pair);
  if (std::exchange(pair->blocked, false))
    if (const auto count = counts_.find(pair->shape.send_count); count != counts_.end())
      std::erase(count->second.blocked, id);
  for (Queue* queue : {&pair->send, &pair->receive}) {
    queue->entries.clear();
    queue->started = 0;
    queue->done = 0;
    queue->failed = false;
    queue->enabled = queue->next_serial;
  }
  pair->outstanding = 0;
  pair->stopped = false;
  rewatch(*pair);
}

void TaskQueues::recover(PairId id) {
  Pair* pair = find(id);
  if (!pair || !pair->send.entries.empty()) return;
  pair->send.failed = false;
  pair->stopped = false;
}

bool TaskQueues::run(int steps) {
  while (steps > 0 && !runnable_.empty()) {
    Pair* pair = find(runnable_.front());
    runnable_.pop_front();
    if (!pair) continue;
    pair->scheduled = false;
    steps = step(*pair, steps);
    if (steps == 0) schedule(*pair);
  }
  return !runnable_.empty();
}

std::uint64_t TaskQueues::produced(CountId id) const {
  const auto found = counts_.find(id);
  return found == counts_.end() ? 0 : found->second.produced;
}

TaskQueues::Pair* TaskQueues::find(PairId id) {
  const auto found = pairs_.find(id);
  return found == pairs_.end() ? nullptr : &found->second;
}

const TaskQueues::Pair* TaskQueues::find(PairId id) const {
  const auto found = pairs_.find(id);
  return found == pairs_.end() ? nullptr : &found->second;
}

void TaskQueues::schedule(Pair& pair) {
  if (std::exchange(pair.scheduled, true)) return;
  runnable_.push_back(pair.id);
}

bool TaskQueues::may_begin(const Queue& queue) {
  return queue.started < queue.entries.size() &&
         (!queue.held || queue.entries[queue.started].serial < queue.enabled);
}

// Returns how many steps are left.
int TaskQueues::step(Pair& pair, int steps) {
  Queue& receive = pair.receive;
  for (; steps > 0 && !receive.failed && may_begin(receive); --steps) {
    const Host::Posted posted = host_.post_receive(pair.id, receive.entries.front());
    if (posted == Host::Posted::yes) {
      ++pair.outstanding;
      receive.entries.pop_front();
      continue;
    }
    if (posted == Host::Posted::full && pair.outstanding > 0) break;
    Entry& entry = receive.entries.front();
    entry.status = Status::local_qp_operation;
    complete(pair.shape.recv_count, pair, entry, true);
    receive.entries.pop_front();
    host_.broken(pair.id);
    fail(pair.id);
  }
  Queue& send = pair.send;
  while (steps > 0 && !send.failed && !pair.stopped && may_begin(send)) {
    --steps;
    if (!begin(pair, send.entries[send.started])) break;
  }
  if (send.failed) drain(pair);
  if (receive.failed) drop_receives(pair);
  rewatch(pair);
  return steps;
}

// Begins the next request or task of a send queue. Returns false if the queue waits or is in error.
bool TaskQueues::begin(Pair& pair, Entry& entry) {
  Queue& send = pair.send;
  // A calculation has not ended. The tasks of a queue are executed in order.
  if (send.started > 0) {
    const Entry& before = send.entries[send.started - 1];
    if (before.kind == Kind::calc && before.in_flight) return false;
  }
  switch (entry.kind) {
    case Kind::request: {
      const Host::Posted posted = host_.post_send(pair.id, entry);
      if (posted == Host::Posted::full) {
        if (!std::exchange(pair.blocked, true))
          counts_[pair.shape.send_count].blocked.push_back(pair.id);
        return false;
      }
      ++send.started;
      if (posted == Host::Posted::yes) {
        entry.in_flight = true;
        return true;
      }
      finish(pair, entry, Status::local_qp_operation);
      return false;
    }
    case Kind::wait:
      return wait(pair, entry);
    case Kind::calc: {
      ++send.started;
      entry.in_flight = true;
      const std::optional<Status> status = host_.calculate(pair.id, entry);
      if (!status) return false;
      finish(pair, entry, *status);
      return *status == Status::success;
    }
    case Kind::enable_send:
    case Kind::enable_receive: {
      ++send.started;
      const Status status = enable(entry);
      finish(pair, entry, status);
      return status == Status::success;
    }
  }
  return false;
}

bool TaskQueues::wait(Pair& pair, const Entry& entry) {
  const auto found = counts_.find(entry.target);
  const bool is_there = found != counts_.end();
  if (is_there && found->second.produced < entry.count) {
    if (pair.parked_on == 0) {
      pair.parked_on = entry.target;
      found->second.parked.push_back({pair.id, entry.count});
      watch(entry.target, 1);
    }
    return false;
  }
  unpark(pair);
  ++pair.send.started;
  finish(pair, pair.send.entries[pair.send.started - 1],
         is_there ? Status::success : Status::local_qp_operation);
  return is_there;
}

Status TaskQueues::enable(const Entry& entry) {
  Pair* target = find(entry.target);
  if (!target) return Status::local_qp_operation;
  Queue& queue = entry.kind == Kind::enable_send ? target->send : target->receive;
  if (!queue.held) return Status::local_qp_operation;
  queue.enabled += entry.count;
  schedule(*target);
  return Status::success;
}

// Marks the entry as over. It completes once the entries before it have completed.
void TaskQueues::finish(Pair& pair, Entry& entry, Status status) {
  entry.in_flight = false;
  entry.done = true;
  ++pair.send.done;
  entry.status = status;
  if (status != Status::success) pair.stopped = true;
  drain(pair);
}

void TaskQueues::drain(Pair& pair) {
  Queue& send = pair.send;
  while (!send.entries.empty()) {
    const Entry& front = send.entries.front();
    if (front.in_flight || (!front.done && !send.failed)) break;
    Entry over = std::move(send.entries.front());
    send.entries.pop_front();
    if (send.started > 0) --send.started;
    if (over.done) --send.done;
    // For a request that the device had, the device itself reports the status. Every other entry
    // behind a failure is flushed.
    const bool of_device = over.kind == Kind::request && over.done;
    if (send.failed && !of_device) over.status = Status::flushed;
    if (over.signalled || over.status != Status::success)
      complete(pair.shape.send_count, pair, over, false);
    if (over.status == Status::success || send.failed) continue;
    if (pair.shape.connected) {
      host_.broken(pair.id);
      pair.receive.failed = true;
      drop_receives(pair);
    }
    send.failed = true;
    unpark(pair);
  }
  if (const auto count = counts_.find(pair.shape.send_count); count != counts_.end()) {
    const std::vector<PairId> blocked = std::exchange(count->second.blocked, {});
    for (const PairId id : blocked)
      if (Pair* other = find(id)) {
        other->blocked = false;
        schedule(*other);
      }
  }
  rewatch(pair);
}

// The device flushes the receives that it has. They came before those that are held here.
void TaskQueues::drop_receives(Pair& pair) {
  Queue& receive = pair.receive;
  while (pair.outstanding == 0 && !receive.entries.empty()) {
    receive.entries.front().status = Status::flushed;
    complete(pair.shape.recv_count, pair, receive.entries.front(), true);
    receive.entries.pop_front();
  }
  rewatch(pair);
}

void TaskQueues::complete(CountId count, Pair& pair, const Entry& entry, bool receives) {
  if (host_.complete(count, pair.id, entry, receives)) counted(count);
}

void TaskQueues::unpark(Pair& pair) {
  const auto found = counts_.find(std::exchange(pair.parked_on, 0));
  if (found == counts_.end()) return;
  std::erase_if(found->second.parked, [&](const Parked& one) { return one.pair == pair.id; });
  watch(found->first, -1);
}

// Asks the host to watch a completion queue if the pair can go on, or complete, only after the
// device has completed something.
void TaskQueues::rewatch(Pair& pair) {
  const Queue& send = pair.send;
  const bool sends = !send.entries.empty() && send.entries.front().in_flight &&
                     send.entries.front().kind == Kind::request &&
                     (pair.blocked || send.failed || pair.stopped || send.done > 0);
  if ((sends || pair.blocked) != std::exchange(pair.send.watching, sends || pair.blocked))
    watch(pair.shape.send_count, pair.send.watching ? 1 : -1);
  const bool receives = pair.receive.failed && !pair.receive.entries.empty();
  if (receives != std::exchange(pair.receive.watching, receives))
    watch(pair.shape.recv_count, receives ? 1 : -1);
}

void TaskQueues::watch(CountId id, int change) {
  const auto found = counts_.find(id);
  if (found == counts_.end()) return;
  const bool before = found->second.watchers > 0;
  found->second.watchers += change;
  const bool after = found->second.watchers > 0;
  if (before != after) host_.watch(id, after);
}

}  // namespace scela::hca::progress
