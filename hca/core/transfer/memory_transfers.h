// Moves bytes between the engine and the memory of processes. If the kernel allows it, the engine
// accesses a process's memory itself ("at once"). Otherwise it gives the process orders, to copy
// bytes for the engine (hca/core/wire/shared_layout.h).
//
// All parts that read or write a process's memory do it here. A transfer by orders takes time. It
// belongs to the present step, the action of a queue pair that is being executed (TransferSteps).
// It returns `later`, and the step is then held: it is taken again from its start once the transfer
// is over. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "hca/core/model/host.h"
#include "hca/core/model/transfer.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Reads, writes, copies and atomic operations on processes' memory.
class MemoryTransfers {
 public:
  // Both references must live as long as this object.
  MemoryTransfers(ProgramMemory& programs, TransferSteps& steps)
      : programs_(programs), steps_(steps) {}

  // Called when a process attaches and when it has left. attach() notes whether the engine itself
  // can access its memory.
  void attach(ProcessId process);
  void detach(ProcessId process) { distant_.erase(process); }
  // Returns true if the engine itself can access the memory of all processes, or of this one.
  bool all_at_once() const { return distant_.empty(); }
  bool at_once(ProcessId process) const { return !distant_.contains(process); }

  // Returns true if the process still exists. Callers ask after a transfer has failed.
  bool is_alive(ProcessId process) { return programs_.alive(process); }

  // These move bytes: out of a process into `to`, out of `from` into a process, or between two
  // processes. Addresses are in the process's own memory, or in pools. `later` means that the step
  // is held and is taken again. `refused` means that some memory does not exist, or that bytes must
  // be moved by orders and there is no present step.
  Transfer read(ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer write(ProcessId process, std::uint64_t address, std::span<const std::byte> from);
  Transfer copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
                std::uint64_t bytes);
  // Executes the atomic operation of `request` on the 8 bytes at `address`. It is atomic with all
  // verbs operations on that process's memory. `before` gets the old value if the result is `done`.
  // Returns as read() does.
  Transfer change(ProcessId process, std::uint64_t address, const SendRequest& request,
                  std::uint64_t& before);

 private:
  // Returns true if the engine itself accesses that address. If not, it gives the process orders.
  bool reaches(ProcessId process, std::uint64_t address) const {
    return address >= kPools || at_once(process);
  }
  // Gives the process an order for the next bytes of the move, or collects the result of the move's
  // order. `from` are bytes to store; `to` gets bytes that were fetched.
  Transfer run_order(Move& move, ProcessId process, const RemoteMemoryOp& order,
                     std::span<const std::byte> from, std::span<std::byte> to);
  // Copies bytes out of one process's memory, or into it (store), at most kOrderBytes at a time.
  // `move` is the transfer that they belong to.
  Transfer fetch(Move& move, ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer store(Move& move, ProcessId process, std::uint64_t address,
                 std::span<const std::byte> from);
  // Executes the atomic operation that `move` describes; the old value goes to Move::before.
  Transfer change(Move& move);
  // Copies the next `bytes` bytes of a move between two processes, through Move::kept.
  Transfer copy_next(Move& move, std::uint64_t bytes);
  // Moves the bytes of a move that are left. `from` are the bytes of a write.
  Transfer continue_move(Move& move, std::span<const std::byte> from);
  // Executes the step's next move, which `what` describes, or continues it. `from` are the bytes of
  // a write. `to` gets the bytes of a read, or the old value of an atomic operation. Returns
  // `refused` if there is no present step.
  Transfer transfer(const Move::What& what, std::span<const std::byte> from,
                    std::span<std::byte> to);

  ProgramMemory& programs_;
  TransferSteps& steps_;
  std::set<ProcessId> distant_;  // only they can access their memory
};

}  // namespace scela::hca
