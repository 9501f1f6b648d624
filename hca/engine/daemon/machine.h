// Does with system calls what the interpreter asks of its host (hca/core/model/host.h), for the
// processes that are attached. Server owns it; only the engine's thread uses it.
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

struct Process {
  ProcessMemory memory;
  Chunks chunks;
  // Asynchronous events, and the completion channels by their handles.
  EventSocket async;
  std::map<std::uint32_t, EventSocket> channels;
  std::optional<Bounce> bounce;  // if its memory cannot be accessed
  // This is present if its memory can be accessed, and if it named an address when it was attached.
  std::optional<Sharing> sharing;
  Pools pools;
};

class Fabric;

class Machine final : public Host {
 public:
  Machine();

  // Names the fabric, which reaches the other nodes and outlives this object. Without it there are
  // no other nodes.
  void join(Fabric& fabric) { fabric_ = &fabric; }

  // The process stays where it is until remove(). find() returns null if the process is not
  // attached.
  Process& add(ProcessId id, Process process);
  void remove(ProcessId id) { processes_.erase(id); }
  Process* find(ProcessId id);
  const Process* find(ProcessId id) const;

  // Like Pools::map, within the bounds for all processes together.
  Pools::Made map_pool(ProcessId process, const Fd& file, const Pools::Part& part);

  // The contract is in hca/core/model/host.h.
  bool at_once(ProcessId process) override;
  bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) override;
  bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) override;
  bool copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
            std::uint64_t bytes) override;
  Ticket order(ProcessId process, const RemoteMemoryOp& order,
               std::span<const std::byte> bytes) override;
  Transfer collect(ProcessId process, Ticket ticket, std::span<std::byte> to) override;
  void forget(ProcessId process, Ticket ticket) override;
  // Asks the kernel. Returns false too if no such process is attached.
  bool alive(ProcessId process) override;
  Shared allocate(ProcessId process, std::uint64_t bytes) override;
  void release(ProcessId process, const Region& region) override;
  void wake(ProcessId process) override;
  void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) override;
  void async_event(ProcessId process, const AsyncEvent& event) override;
  std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global, std::uint16_t lid) override;
  std::vector<std::uint32_t> known_nodes() override;
  bool ready(std::uint32_t node) override;
  bool send(std::uint32_t node, std::span<const std::byte> header,
            std::span<const std::byte> payload) override;

  // Returns the event sockets that have become full since the last call. They are flushed once they
  // can be written to.
  struct Full {
    ProcessId process = 0;
    int descriptor = -1;
  };
  std::vector<Full> take_full() { return std::exchange(full_, {}); }
  // Returns the processes that do not read their events. The server drops them.
  std::vector<ProcessId> take_deaf() { return std::exchange(deaf_, {}); }
  // Sends the events that are kept for the socket. Returns true if it is full again. Returns false
  // if it is not, or if the process or the socket has gone.
  bool flush(ProcessId process, int descriptor);

  // Counts since the start: transfers (with orders) and their bytes, wakes of processes, and
  // events.
  struct Counts {
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wakes = 0;
    std::uint64_t events = 0;
  };
  const Counts& counts() const { return counts_; }
  // Returns true if take_full() or take_deaf() has something to return.
  bool has_news() const { return !full_.empty() || !deaf_.empty(); }

 private:
  // Returns true if every process that polls, and the engine, can have a processor of its own. Only
  // then do processes move parts.
  bool may_share();
  // Sends the event. If the socket keeps it or has too many, the process goes to `full_` or
  // `deaf_`.
  void send_event(ProcessId id, EventSocket& socket, std::span<const std::byte> event);

  // The number of processors that this process may use.
  std::size_t processors_;
  std::unordered_map<ProcessId, Process> processes_;
  Fabric* fabric_ = nullptr;
  std::vector<std::byte> buffer_;
  std::vector<Full> full_;
  std::vector<ProcessId> deaf_;
  Counts counts_;
};

}  // namespace scela::hca
