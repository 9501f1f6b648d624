// Moves bytes between the engine and the memory of processes: at once, or by orders that a process
// carries out (ProgramMemory::at_once).
//
// All parts that read or write a process's memory do it here. A transfer that takes time belongs to
// the present step (TransferSteps); it returns `later` and is then asked for again. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "hca/core/model/host.h"
#include "hca/core/model/transfer.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

class MemoryTransfers {
 public:
  // Both references must live as long as this object.
  MemoryTransfers(ProgramMemory& programs, TransferSteps& steps)
      : programs_(programs), steps_(steps) {}

  // Notes whether a new process's memory is reached at once.
  void attach(ProcessId process);
  void detach(ProcessId process) { distant_.erase(process); }
  // Returns whether the memory of all processes, or of this one, is reached at once.
  bool all_at_once() const { return distant_.empty(); }
  bool at_once(ProcessId process) const { return !distant_.contains(process); }

  // Returns whether the process still exists. Callers ask after a transfer has failed.
  bool is_alive(ProcessId process) { return programs_.alive(process); }

  // Addresses are in the process's own memory, or in pools. If a function returns `later`, the step
  // is held and is taken again. `refused` means that some memory does not exist, or that bytes must
  // be moved by a process outside a step.
  Transfer read(ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer write(ProcessId process, std::uint64_t address, std::span<const std::byte> from);
  Transfer copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
                std::uint64_t bytes);
  // Executes the atomic operation of `request`, which is one with respect to all verbs operations
  // on that process's memory. `before` gets the old value.
  Transfer change(ProcessId process, std::uint64_t address, const SendRequest& request,
                  std::uint64_t& before);

 private:
  // Returns whether the engine itself accesses that address. If not, it gives the process orders.
  bool reaches(ProcessId process, std::uint64_t address) const {
    return address >= kPools || at_once(process);
  }
  // Gives the process an order for the next bytes of the move, or collects the order's result.
  // `from` are bytes to store; `to` gets bytes that were fetched.
  Transfer run_order(Move& move, ProcessId process, const RemoteMemoryOp& order,
                     std::span<const std::byte> from, std::span<std::byte> to);
  // These move bytes out of (fetch) or into (store) one process's memory, at most kOrderBytes at a
  // time.
  Transfer fetch(Move& move, ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer store(Move& move, ProcessId process, std::uint64_t address,
                 std::span<const std::byte> from);
  // Executes an atomic operation; the old value goes to Move::before.
  Transfer change(Move& move);
  // Copies the next bytes of a move between two processes through Move::kept.
  Transfer copy_next(Move& move, std::uint64_t bytes);
  // Moves the bytes of a move that are left. `from` are the bytes of a write.
  Transfer continue_move(Move& move, std::span<const std::byte> from);
  // Executes the step's next move. `to` gets the bytes of a read, or the old value of a change.
  // Returns `refused` if there is no present step.
  Transfer transfer(const Move::What& what, std::span<const std::byte> from,
                    std::span<std::byte> to);

  ProgramMemory& programs_;
  TransferSteps& steps_;
  std::set<ProcessId> distant_;  // memory is not reached at once
};

}  // namespace scela::hca
