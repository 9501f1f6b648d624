// The steps of queue pairs (hca/core/model/transfer.h): which one is being taken, and which queue
// pairs wait for a process.
//
// A step is the next action of a queue pair, such as to send a part of a message. It may need
// moves, which are transfers between memories. A move may need an order, which asks a process to
// copy bytes of its own memory for the adapter. A process has few orders at a time. A step is held
// while it waits for an order or for room for one; it is then taken again from its start.
//
// The parts that execute requests begin and end steps. MemoryTransfers asks for the moves of the
// present step, and holds it if a move is not over. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "hca/core/model/host.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/kept_bytes.h"

namespace scela::hca {

// Begins, holds, repeats and ends steps; at most one step is the present one.
class TransferSteps {
 public:
  // All references must live as long as this object.
  TransferSteps(ProgramMemory& programs, const ObjectTables& objects, Scheduler& scheduler,
                KeptBytes& kept)
      : programs_(programs), objects_(objects), scheduler_(scheduler), kept_(kept) {}

  // Makes `step` the present step of `qp`, until end(). If `key` is that of the held step, the step
  // is taken again. Otherwise it begins with no bytes moved.
  void begin(Qp& qp, Step& step, const Step::Key& key) {
    if (step.key != key) abandon(step);
    step.key = key;
    step.qp = qp.handle;
    step.next = 0;
    step.held = false;
    step.crowded = false;
    step.again = !step.moves.empty();
    present_ = &step;
  }
  // Ends the present step. Returns true if it is held and must be taken again, and false if it is
  // over.
  bool end(Step& step) {
    present_ = nullptr;
    if (!step.held)
      abandon(step);
    else if (step.crowded)
      drop_kept_bytes(step);
    return step.held;
  }
  // Drops the moves of a step, the present one or another: they are final or not needed any more.
  // Orders under way are dropped.
  void abandon(Step& step) {
    step.filling = 0;
    if (step.held || !step.moves.empty()) abandon_moves(step);
  }
  // Abandons all steps of a queue pair that is reset, destroyed or in error, and drops the answers
  // that wait for its owner's memory.
  void abandon_all(Qp& qp);

  // Return true if `step` is the present one, or if there is any.
  bool is_present(const Step& step) const { return present_ == &step; }
  bool has_present() const { return present_ != nullptr; }
  // Returns true if the present step was held before and is taken again.
  bool is_repeated() const { return present_ && present_->again; }
  // Claims a receive request for the present step, and returns true. Returns false if another queue
  // pair's step is filling that request. The present step is then held until that one has ended.
  bool may_fill(Receiving& received);

  // Holds the present step until the process has carried out an order, or has room for one. There
  // must be a present step, also for the next two functions. Returns `later`.
  Transfer hold(ProcessId process);
  // Returns the next move of the present step. If the step has been here before with the same
  // `what`, that move continues; otherwise it is a new one.
  Move& next_move(const Move::What& what);
  // Allocates `bytes` bytes for Move::kept. Returns false if too many bytes are kept for the
  // process: the step is then held until there is room.
  bool make_room(Move& move, ProcessId process, std::uint64_t bytes);

  // Schedules the queue pairs with a step that waits for the process. The caller calls this when an
  // order of the process is over, or when there is room for another order or for kept bytes.
  void schedule_waiting(ProcessId process);
  // Called when the process has left the adapter. Forgets what is noted about it, and schedules the
  // queue pairs that wait for it.
  void detach(ProcessId process);

 private:
  // Drops the bytes that a held step keeps, because other steps need the room. They are fetched
  // again.
  void drop_kept_bytes(Step& step);
  // Drops the moves of a step, or one move, with their orders.
  void abandon_moves(Step& step);
  void abandon(const Move& move);
  // Returns true if the present step may exceed the limit of kept bytes, as one step for each
  // process may.
  bool may_exceed(ProcessId process);

  ProgramMemory& programs_;
  const ObjectTables& objects_;
  Scheduler& scheduler_;
  KeptBytes& kept_;
  Step* present_ = nullptr;
  // Queue pairs with a held step, by the process that it waits for.
  std::map<ProcessId, std::set<std::uint32_t>> waiting_;
  // The queue pair of each process that gets room before the others.
  std::map<ProcessId, std::uint32_t> first_of_;
};

}  // namespace scela::hca
