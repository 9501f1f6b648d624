// The interfaces through which the interpreter uses its machine: the memory of programs, memory
// that it shares with them, what it tells them, and the other nodes. Each of the interpreter's
// parts is given the one that it needs. The engine's shell implements them with system calls, tests
// with arrays.
//
// The interpreter calls them from its one thread. Calls do not block, and must not call back into
// the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hca/core/wire/layout.h"
#include "hca/core/wire/messages.h"

namespace scela::hca {

// A process attached to the engine, one per open context. Numbers are never used again.
using ProcessId = std::uint32_t;

// Addresses from here on lie in pools: memory that a process and the engine both map. The engine
// accesses pools at once, whatever ProgramMemory::at_once returns. No program has memory of its own
// there.
inline constexpr std::uint64_t kPools = 1ULL << 63;

enum class Transfer : std::uint8_t {
  done,
  // Not all of the memory exists (any more); bytes written until then stay written.
  refused,
  later,  // it is under way
};

// The number of an order given to a process. 0 is no order.
using Ticket = std::uint64_t;

// The memory that processes have of their own, or have got as pools.
class ProgramMemory {
 public:
  virtual ~ProgramMemory() = default;

  // Returns whether the engine accesses the process's memory at once; this never changes. If not,
  // the engine gives the process orders (hca/core/wire/layout.h), which it carries out one after
  // the other. Pools are exempt.
  virtual bool at_once(ProcessId) { return true; }

  // These access memory of one process, or of two, that is reached at once. They return false if
  // the transfer is refused.
  virtual bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) = 0;
  virtual bool copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                    std::uint64_t to_address, std::uint64_t bytes) = 0;

  // Gives an order of at most kOrderBytes for memory that is not reached at once, with the bytes to
  // store. Returns 0 if there is no room. There is room again once another order was collected or
  // forgotten, or its process has rung the doorbell of orders.
  virtual Ticket order(ProcessId, const RemoteMemoryOp&, std::span<const std::byte>) { return 0; }
  // Returns the state of an order. It copies the bytes that were fetched, or the number's value
  // before a change. The ticket ends unless the state is `later`.
  virtual Transfer collect(ProcessId, Ticket, std::span<std::byte>) { return Transfer::refused; }
  // Drops an order: its result is not needed any more. The order is not begun if that can be
  // prevented.
  virtual void forget(ProcessId, Ticket) {}

  // Returns whether the process still exists. The interpreter asks after a transfer has failed.
  virtual bool alive(ProcessId process) = 0;
};

// Memory that the engine makes for rings, and that the process of a ring maps too.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  // Zeroed memory that the process maps as well, aligned to 64 bytes. `base` is null if there is no
  // memory left.
  struct Shared {
    std::byte* base = nullptr;
    Region region;
  };
  virtual Shared allocate(ProcessId process, std::uint64_t bytes) = 0;
  // Frees a range that allocate() has returned. A Region of zeros is ignored.
  virtual void release(ProcessId process, const Region& region) = 0;
};

// Tells processes what does not stand in their rings of completions.
class Notices {
 public:
  virtual ~Notices() = default;

  // Wakes the threads that wait on the process's doorbell (ProcessPage).
  virtual void wake(ProcessId process) = 0;
  // These report an event to a completion channel (its handle), or to the process's asynchronous
  // events. `cookie` is the one that the process has given the CQ.
  virtual void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) = 0;
  virtual void async_event(ProcessId process, const AsyncEvent& event) = 0;
};

// The engines of other nodes.
class OtherNodes {
 public:
  virtual ~OtherNodes() = default;

  // Returns the number (not 0) of the node that an address leads to, or std::nullopt if there is
  // none.
  virtual std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global,
                                               std::uint16_t lid) = 0;
  // Returns the nodes that are connected or that the job has announced. A datagram to a group goes
  // to each of them.
  virtual std::vector<std::uint32_t> known_nodes() { return {}; }
  // Returns whether another frame may be passed for that node. Once it may again, the host calls
  // Engine::writable.
  virtual bool ready(std::uint32_t node) = 0;
  // Sends a frame to another node's engine, whole and in order. Returns false if there is no
  // connection; no frame passed since the last Engine::lost for it has then surely arrived.
  virtual bool send(std::uint32_t node, std::span<const std::byte> header,
                    std::span<const std::byte> payload) = 0;
};

// The whole machine, which an Engine is given.
class Host : public ProgramMemory, public SharedMemory, public Notices, public OtherNodes {};

}  // namespace scela::hca
