// The steps of queue pairs (hca/core/model/transfer.h): which one is being taken, and which queue
// pairs wait for a process.
//
// An order asks a process to copy bytes of its own memory for the adapter. A process has few orders
// at a time. A step is held while it waits for an order or for room for one.
//
// The parts that execute requests begin and end steps; MemoryTransfers asks for the moves of the
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

class TransferSteps {
 public:
  // All references must live as long as this object.
  TransferSteps(ProgramMemory& programs, const ObjectTables& objects, Scheduler& scheduler,
                KeptBytes& kept)
      : programs_(programs), objects_(objects), scheduler_(scheduler), kept_(kept) {}

  // Begins a step, or takes a held one again. If `key` differs from the one before, the step begins
  // with no bytes moved. The step is the present one until end().
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
  // Returns true if the step is held and must be taken again.
  bool end(Step& step) {
    present_ = nullptr;
    if (!step.held)
      abandon(step);
    else if (step.crowded)
      drop_kept_bytes(step);
    return step.held;
  }
  // Ends a step, the present one or another: its moves are final or not needed any more. Orders
  // under way are dropped.
  void abandon(Step& step) {
    step.filling = 0;
    if (step.held || !step.moves.empty()) abandon_moves(step);
  }
  // Abandons all steps of a queue pair that is reset, destroyed or in error, and drops the answers
  // that wait.
  void abandon_all(Qp& qp);

  bool is_present(const Step& step) const { return present_ == &step; }
  bool has_present() const { return present_ != nullptr; }
  // Returns whether the present step was held before and is taken again.
  bool is_repeated() const { return present_ && present_->again; }
  // Returns false if another queue pair's step is filling that receive request. The present step is
  // then held until that one has ended.
  bool may_fill(Receiving& received);

  // These need a present step. hold() holds it until the process has carried out an order, and
  // returns `later`.
  Transfer hold(ProcessId process);
  // Returns the move that the step comes to. If the step has been here before with the same `what`,
  // that move continues.
  Move& next_move(const Move::What& what);
  // Allocates Move::kept. Returns false if too many bytes are kept for the process: the step is
  // then held until there is room.
  bool make_room(Move& move, ProcessId process, std::uint64_t bytes);

  // Schedules the queue pairs that wait for the process. The caller calls this when an order of the
  // process is over, or when there is room for another order or for kept bytes.
  void schedule_waiting(ProcessId process);
  // The process has left the adapter. Forgets what is kept for it, and schedules the queue pairs
  // that wait for it.
  void detach(ProcessId process);

 private:
  // Drops the bytes that a held step keeps, because other steps need the room.
  void drop_kept_bytes(Step& step);
  void abandon_moves(Step& step);
  void abandon(const Move& move);
  // Returns whether the present step may exceed the limit of kept bytes.
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
