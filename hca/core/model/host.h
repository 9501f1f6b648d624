// The interfaces through which the interpreter uses its machine. They are for the memory of
// programs, memory that it shares with them, notices to them, and the other nodes. Each of the
// interpreter's parts is given the one that it needs. The engine's shell implements them with
// system calls, tests with arrays.
//
// The interpreter calls them from its one thread. Calls do not block, and must not call back into
// the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hca/core/wire/engine_messages.h"
#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// The number of a process that is attached to the engine. A program that has opened the device
// several times counts as several processes. Numbers are never used again.
using ProcessId = std::uint32_t;

// Addresses from here on lie in pools: memory files that a process and the engine both map. The
// engine accesses pools at once, whatever ProgramMemory::at_once() returns. No program has memory
// of its own there.
inline constexpr std::uint64_t kPools = 1ULL << 63;

// The state of a transfer between memories.
enum class Transfer : std::uint8_t {
  done,
  // Not all of the memory exists (any more); bytes written until then stay written.
  refused,
  later,  // under way; the caller asks again
};

// The number of an order given to a process (hca/core/wire/shared_layout.h). 0 is no order.
using Ticket = std::uint64_t;

// The memory of processes: their own memory, and pools.
class ProgramMemory {
 public:
  virtual ~ProgramMemory() = default;

  // Returns true if the engine itself can access the process's memory; this never changes. If not,
  // the process moves bytes for the engine by orders, which it carries out one after the other.
  // Pools are exempt.
  virtual bool at_once(ProcessId /*process*/) { return true; }

  // These access memory of one process, or of two, that the engine itself can access. Addresses are
  // those of the process, or of its pools. They return true if all bytes were moved. They return
  // false if some memory does not exist; bytes moved until then stay moved.
  virtual bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) = 0;
  virtual bool copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                    std::uint64_t to_address, std::uint64_t bytes) = 0;

  // Gives a process an order of at most kOrderBytes, because the engine cannot access its memory.
  // `bytes` has the bytes of a `store`, and is empty otherwise. Returns the order's number, or 0 if
  // there is no room. There is room again once another order was collected or forgotten, or its
  // process has rung the doorbell of orders.
  virtual Ticket order(ProcessId /*process*/, const RemoteMemoryOp& /*order*/,
                       std::span<const std::byte> /*bytes*/) {
    return 0;
  }
  // Returns the state of an order. If it is `done`, copies the bytes that were fetched, or the
  // number's value before an atomic operation, to `to`. The ticket becomes invalid unless the state
  // is `later`.
  virtual Transfer collect(ProcessId /*process*/, Ticket /*ticket*/, std::span<std::byte> /*to*/) {
    return Transfer::refused;
  }
  // Drops an order because its result is not needed any more; its ticket becomes invalid. The
  // process does not begin the order if that can be prevented.
  virtual void forget(ProcessId /*process*/, Ticket /*ticket*/) {}

  // Returns whether the process still exists. The interpreter asks after a transfer has failed.
  virtual bool alive(ProcessId process) = 0;
};

// Memory that the engine makes for rings, and that the process of a ring maps too.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  // A range of zeroed memory that the process maps as well, aligned to 64 bytes. `base` is where
  // the engine maps it; it is null if there is no memory left. `region` is how the process finds
  // it.
  struct Shared {
    std::byte* base = nullptr;
    Region region;
  };
  // Allocates at least `bytes` bytes that the engine and the process share.
  virtual Shared allocate(ProcessId process, std::uint64_t bytes) = 0;
  // Frees a range that allocate() has returned. A Region of zeros is ignored.
  virtual void release(ProcessId process, const Region& region) = 0;
};

// Notifies processes of news beyond what they read in their rings of completions: it wakes threads
// and sends events.
class Notices {
 public:
  virtual ~Notices() = default;

  // Wakes the threads that sleep on the process's futex (ProcessPage::doorbell), because a
  // completion has arrived.
  virtual void wake(ProcessId process) = 0;
  // Sends an event to the completion channel with this handle. `cookie` is the one that the process
  // has given the CQ.
  virtual void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) = 0;
  // Sends an asynchronous event to the process (ibv_get_async_event).
  virtual void async_event(ProcessId process, const AsyncEvent& event) = 0;
};

// The engines of other nodes. Nodes have numbers from 1; 0 stands for this node.
class OtherNodes {
 public:
  virtual ~OtherNodes() = default;

  // Returns the number of the other node that an address leads to, or std::nullopt if there is
  // none. The address is the GID if `is_global` is true, otherwise the LID.
  virtual std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global,
                                               std::uint16_t lid) = 0;
  // Returns the nodes that are connected or that the job has announced. A datagram to a group goes
  // to each of them.
  virtual std::vector<std::uint32_t> known_nodes() { return {}; }
  // Returns true if another frame may be passed for that node. If it returns false, the host calls
  // Engine::writable() once it may again.
  virtual bool ready(std::uint32_t node) = 0;
  // Sends a frame to another node's engine, whole and in order; both spans are copied. Returns
  // false if there is no connection. No frame passed since the last Engine::lost() for that node
  // has then arrived for certain.
  virtual bool send(std::uint32_t node, std::span<const std::byte> header,
                    std::span<const std::byte> payload) = 0;
};

// The whole machine, which an Engine is given.
class Host : public ProgramMemory, public SharedMemory, public Notices, public OtherNodes {};

}  // namespace scela::hca
