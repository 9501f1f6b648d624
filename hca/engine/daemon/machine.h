// The engine's Host: does with system calls what the interpreter asks of its machine
// (hca/core/model/host.h), for the processes that are attached. Server owns it; only the engine's
// thread uses it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hca/core/model/host.h"
#include "hca/engine/daemon/sharing.h"
#include "hca/engine/io/bounce.h"
#include "hca/engine/io/event_socket.h"
#include "hca/engine/memory/chunks.h"
#include "hca/engine/memory/pools.h"
#include "hca/engine/memory/process_memory.h"

namespace scela::hca {

// All that the engine holds for an attached process.
struct Process {
  ProcessMemory memory;
  Chunks chunks;
  // Asynchronous events, and the completion channels by their handles.
  EventSocket async;
  std::map<std::uint32_t, EventSocket> channels;
  // Gives it orders to copy bytes. Present only if the engine cannot access its memory.
  std::optional<OrderSender> bounce;
  // Offers it parts of long messages. Present if its memory can be accessed, and if it named an
  // address when it was attached.
  std::optional<Sharing> sharing;
  Pools pools;
};

class Fabric;

// The attached processes, by their ids.
class Machine final : public Host {
 public:
  Machine();

  // Sets the fabric, the connections to other nodes. It must outlive this object. Without it there
  // are no other nodes.
  void join(Fabric& fabric) { fabric_ = &fabric; }

  // Adds a process. The returned reference is valid until remove().
  Process& add(ProcessId id, Process process);
  // Removes a process, and with it all that the engine holds for it.
  void remove(ProcessId id) { processes_.erase(id); }
  // Return the process, or null if it is not attached.
  Process* find(ProcessId id);
  const Process* find(ProcessId id) const;

  // Maps a part of a file as a pool of the process, as Pools::map() does. It also returns ENOMEM if
  // a limit for all processes together would be exceeded, and EINVAL if the process is not
  // attached.
  Pools::Made map_pool(ProcessId process, const Fd& file, const Pools::Part& part);

  // These implement Host, which says more about each (hca/core/model/host.h). Returns true if the
  // engine itself can access the process's memory.
  bool at_once(ProcessId process) override;
  // Move bytes out of a process, into it, or between two. They return false if some memory does not
  // exist or the process is not attached.
  bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) override;
  bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) override;
  bool copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
            std::uint64_t bytes) override;
  // Gives the process an order to copy bytes. Returns its number, or 0 if there is no room.
  Ticket order(ProcessId process, const RemoteMemoryOp& order,
               std::span<const std::byte> bytes) override;
  // Returns the state of an order; if it is `done`, copies what was fetched to `to`.
  Transfer collect(ProcessId process, Ticket ticket, std::span<std::byte> to) override;
  // Drops an order, because its result is not needed.
  void forget(ProcessId process, Ticket ticket) override;
  // Returns true if the process still exists, as the kernel reports. Returns false also if no such
  // process is attached.
  bool alive(ProcessId process) override;
  // Allocates memory that the engine and the process share, or frees it.
  Shared allocate(ProcessId process, std::uint64_t bytes) override;
  void release(ProcessId process, const Region& region) override;
  // Wakes the threads of the process that sleep in a poll.
  void wake(ProcessId process) override;
  // Sends an event to a completion channel (its handle), or to the process's asynchronous events.
  void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) override;
  void async_event(ProcessId process, const AsyncEvent& event) override;
  // Returns the number of the other node that an address leads to, or std::nullopt if there is
  // none.
  std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global, std::uint16_t lid) override;
  // Returns the nodes that a datagram to a group goes to.
  std::vector<std::uint32_t> known_nodes() override;
  // Returns true if another frame may be sent to the node.
  bool ready(std::uint32_t node) override;
  // Sends a frame to the node. Returns false if it cannot be reached.
  bool send(std::uint32_t node, std::span<const std::byte> header,
            std::span<const std::byte> payload) override;

  // An event socket that has become full, of a process. It must be flushed once it can be written
  // to.
  struct Full {
    ProcessId process = 0;
    int descriptor = -1;
  };
  // Returns the event sockets that have become full since the last call.
  std::vector<Full> take_full() { return std::exchange(full_, {}); }
  // Returns the processes that do not read their events, since the last call. The server drops
  // them.
  std::vector<ProcessId> take_unread() { return std::exchange(deaf_, {}); }
  // Sends the events that are kept for the event socket with this descriptor. Returns true if
  // events are still kept. Returns false if all were sent, or if the process or the socket has
  // gone.
  bool flush(ProcessId process, int descriptor);

  // Counts since the start: transfers of memory (with orders) and their bytes, wakes of processes,
  // and events.
  struct Counts {
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wakes = 0;
    std::uint64_t events = 0;
  };
  const Counts& counts() const { return counts_; }
  // Returns true if take_full() or take_unread() has something to return.
  bool has_news() const { return !full_.empty() || !deaf_.empty(); }

 private:
  // Returns true if processes may move parts of long messages now. They may only if every process
  // that polls, and the engine, can have a processor of its own.
  bool may_share();
  // Sends the event. If the socket must keep it, the socket goes to `full_`. If it keeps too many,
  // the process goes to `deaf_`.
  void send_event(ProcessId id, EventSocket& socket, std::span<const std::byte> event);

  // The number of processors that this process may use.
  std::size_t processors_;
  std::unordered_map<ProcessId, Process> processes_;
  Fabric* fabric_ = nullptr;
  // Holds bytes on their way between two processes.
  std::vector<std::byte> buffer_;
  std::vector<Full> full_;
  std::vector<ProcessId> deaf_;
  Counts counts_;
};

}  // namespace scela::hca
