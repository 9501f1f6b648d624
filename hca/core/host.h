// What the interpreter needs of its machine. The engine's shell implements it with system calls,
// tests with arrays.
//
// Calls return at once; none may call back into the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hca/core/layout.h"
#include "hca/core/messages.h"

namespace scela::hca {

// A process attached to the engine (one per open context); numbers are not used again.
using ProcessId = std::uint32_t;

// Addresses from here on are those of pools: memory that a process and the engine both map, so that
// it is reached at once, whatever Host::at_once says. No program's own memory is there.
inline constexpr std::uint64_t kPools = 1ULL << 63;

enum class Transfer : std::uint8_t {
  done,
  refused,  // not all of it is there (any more); what was written until then stays
  later,    // it is under way
};

// An order that a process was given. 0: none.
using Ticket = std::uint64_t;

class Host {
 public:
  virtual ~Host() = default;

  // Whether a process's memory is reached at once; it does not change. Else the process is given
  // orders (layout.h), which it carries out one after the other, but for what lies in pools.
  virtual bool at_once(ProcessId) { return true; }

  // Bytes of memory that is reached at once, of one process or of two. False: refused.
  virtual bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) = 0;
  virtual bool copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                    std::uint64_t to_address, std::uint64_t bytes) = 0;

  // Of memory that is not: an order of kOrderBytes at most, with the bytes that it is to store. 0:
  // there is no room until another has been collected or forgotten, or its process rings the bell
  // of orders.
  virtual Ticket order(ProcessId, const Order&, std::span<const std::byte>) { return 0; }
  // What became of it; of one that fetches, its bytes, and of one that changes a number, what that
  // was before. Over with it unless the answer is `later`.
  virtual Transfer collect(ProcessId, Ticket, std::span<std::byte>) { return Transfer::refused; }
  // Nobody waits for it any more: it is not begun if it can be helped.
  virtual void forget(ProcessId, Ticket) {}

  // Whether the process is there: asked where a transfer has failed.
  virtual bool alive(ProcessId process) = 0;

  // Zeroed memory that the process maps as well, aligned to 64 bytes; base null: there is none
  // left.
  struct Shared {
    std::byte* base = nullptr;
    Region region;
  };
  virtual Shared allocate(ProcessId process, std::uint64_t bytes) = 0;
  virtual void release(ProcessId process, const Region& region) = 0;

  // Wakes who waits on the process's bell (ProcessPage).
  virtual void wake(ProcessId process) = 0;
  // To a completion channel (its handle), or to the process's asynchronous events.
  virtual void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) = 0;
  virtual void async_event(ProcessId process, const AsyncEvent& event) = 0;

  // The number, not 0, of the node that an address leads to; nothing if it leads nowhere.
  virtual std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global,
                                               std::uint16_t lid) = 0;
  // The nodes that are connected, or that the job has told of: what goes to a group goes to each.
  virtual std::vector<std::uint32_t> known_nodes() { return {}; }
  // Whether another frame may be given for that node; once it may again, Engine::writable is
  // called.
  virtual bool ready(std::uint32_t node) = 0;
  // Bytes to the engine of another node, whole and in order. False: there is no connection, and
  // none of what was given since the last Engine::lost for it has surely arrived.
  virtual bool send(std::uint32_t node, std::span<const std::byte> header,
                    std::span<const std::byte> payload) = 0;
};

}  // namespace scela::hca
