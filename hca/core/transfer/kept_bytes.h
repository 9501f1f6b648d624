// The bytes that the engine keeps for processes that do not accept them yet, and the queue pairs
// that wait until fewer are kept. RoomFor names three kinds: frames with requests of other nodes,
// frames with answers, and bytes between two processes.
//
// The parts that keep such bytes ask it for room. Its limits bound the engine's memory. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/wire/counted_bytes.h"

namespace scela::hca {

// Checks limits, hands out counters, and keeps the lists of queue pairs that wait for room.
class KeptBytes {
 public:
  // Both references must live as long as this object.
  KeptBytes(const ObjectTables& objects, Scheduler& scheduler)
      : objects_(objects), scheduler_(scheduler) {}

  // Returns true if `bytes` more of this kind would exceed the process's limit.
  bool would_exceed(ProcessId process, RoomFor what, std::uint64_t bytes) const;
  // Returns true if queue pairs that wait for room of this kind may go on. For answers and moves
  // that is when half of the limit is free, so that they do not wait again at once. For requests
  // the limit is then twice as high as in exceeds(): a message may be kept if nothing else of its
  // queue pair waits.
  bool has_room(ProcessId process, RoomFor what) const;
  // Returns the counter of such bytes of the process, for a CountedBytes; it is never null.
  // Processes that are not attached share one.
  std::shared_ptr<std::uint64_t> counter(ProcessId process, RoomFor what) const;

  // Notes that the queue pair waits: schedule_waiting() schedules it once has_room() is true.
  void wait_for_room(ProcessId process, RoomFor what, std::uint32_t qpn) {
    waiting_[{process, what}].insert(qpn);
  }
  // Schedules the queue pairs that wait, if there is room now.
  void schedule_waiting();

 private:
  // Returns the counters of a process; the result is never null.
  const std::shared_ptr<Keeping>& kept_for(ProcessId process) const;

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  std::map<std::pair<ProcessId, RoomFor>, std::set<std::uint32_t>> waiting_;
  // Counts the bytes kept for processes that have gone.
  std::shared_ptr<Keeping> of_departed_ = std::make_shared<Keeping>();
};

}  // namespace scela::hca
