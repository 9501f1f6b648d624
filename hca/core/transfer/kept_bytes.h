// The bytes that the engine keeps for processes that do not accept them yet, and the queue pairs
// that wait until fewer are kept.
//
// The parts that keep frames of other nodes, or bytes on their way between two processes, ask it
// for room. Its limits bound the engine's memory. The interpreter's one thread uses it.
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

class KeptBytes {
 public:
  // Both references must live as long as this object.
  KeptBytes(const ObjectTables& objects, Scheduler& scheduler)
      : objects_(objects), scheduler_(scheduler) {}

  // Returns whether `bytes` more than there are would exceed the process's limit of such bytes.
  bool exceeds(ProcessId process, RoomFor what, std::uint64_t bytes) const;
  // Returns whether queue pairs that wait for room may go on. For answers and moves that is when
  // half of the limit is free, so that they do not wait again at once. For requests it is when a
  // message may be kept behind which nothing of its queue pair waits.
  bool has_room(ProcessId process, RoomFor what) const;
  // Returns the counter of such bytes, for a CountedBytes. Processes that have gone share one.
  std::shared_ptr<std::uint64_t> counter(ProcessId process, RoomFor what) const;

  // The queue pair runs again once there is room.
  void wait_for_room(ProcessId process, RoomFor what, std::uint32_t qpn) {
    waiting_[{process, what}].insert(qpn);
  }
  // Schedules the queue pairs that wait, if there is room now.
  void schedule_waiting();

 private:
  // The result is never null.
  const std::shared_ptr<Keeping>& kept_for(ProcessId process) const;

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  std::map<std::pair<ProcessId, RoomFor>, std::set<std::uint32_t>> waiting_;
  // Counts the bytes kept for processes that have gone.
  std::shared_ptr<Keeping> of_departed_ = std::make_shared<Keeping>();
};

}  // namespace scela::hca
