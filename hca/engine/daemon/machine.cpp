#include "hca/engine/daemon/machine.h"

#include <cerrno>
#include <utility>

#include "common/os/affinity.h"
#include "common/os/clock.h"
#include "common/os/futex.h"
#include "hca/engine/memory/sigbus_copy.h"
#include "hca/engine/net/fabric.h"

namespace scela::hca {

namespace {
// Small enough to stay in a core's cache between the read that fills it and the write that empties
// it.
constexpr std::size_t kBufferBytes = 128u << 10;

// Copies if one of the two addresses, or both, are in a pool.
bool copy_pools(const Process& source, std::uint64_t from_address, const Process& target,
                std::uint64_t to_address, std::uint64_t bytes) {
  const std::byte* const from =
      from_address >= kPools ? source.pools.at(from_address, bytes, false) : nullptr;
  std::byte* const to = to_address >= kPools ? target.pools.at(to_address, bytes, true) : nullptr;
  if (from != nullptr && to != nullptr) return copy_guarded(to, from, bytes);
  // The kernel finds addresses that are not mapped, and reports them.
  if (from != nullptr && to_address < kPools)
    return target.memory.write(to_address, std::span(from, bytes));
  return to != nullptr && from_address < kPools &&
         source.memory.read(from_address, std::span(to, bytes));
}
}  // namespace

Machine::Machine() : processors_(allowed_cpus().size()) {}

Process& Machine::add(ProcessId id, Process process) {
  return processes_.emplace(id, std::move(process)).first->second;
}

Process* Machine::find(ProcessId id) {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : &found->second;
}

const Process* Machine::find(ProcessId id) const {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : &found->second;
}

bool Machine::read(ProcessId process, std::uint64_t address, std::span<std::byte> to) {
  Process* const found = find(process);
  ++counts_.transfers;
  counts_.bytes += to.size();
  if (found == nullptr) return false;
  return address >= kPools ? found->pools.read(address, to) : found->memory.read(address, to);
}

bool Machine::write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) {
  Process* const found = find(process);
  ++counts_.transfers;
  counts_.bytes += from.size();
  if (found == nullptr) return false;
  return address >= kPools ? found->pools.write(address, from) : found->memory.write(address, from);
}

// Returns true if there is a processor for each process that polls, and one for the engine.
// Otherwise other threads need those processors.
bool Machine::may_share() {
  if (processes_.size() > processors_) return false;
  std::size_t polling = 0;
  for (auto& [id, process] : processes_)
    if (process.sharing && process.sharing->polls()) ++polling;
  return polling > 0 && polling < processors_;
}

bool Machine::copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                   std::uint64_t to_address, std::uint64_t bytes) {
  Process* const source = find(from);
  Process* const target = find(to);
  ++counts_.transfers;
  counts_.bytes += bytes;
  if (source == nullptr || target == nullptr) return false;
  if (from_address >= kPools || to_address >= kPools)
    return copy_pools(*source, from_address, *target, to_address, bytes);
  if (buffer_.empty()) buffer_.resize(kBufferBytes);
  if (from != to && bytes >= Sharing::kLeastBytes && may_share()) {
    if (source->sharing && source->sharing->offers(bytes))
      return source->sharing->copy(
          {CopyJobKind::push, source->memory, target->memory, to, from_address, to_address, bytes},
          buffer_);
    if (target->sharing && target->sharing->offers(bytes))
      return target->sharing->copy({CopyJobKind::pull, target->memory, source->memory, from,
                                    to_address, from_address, bytes},
                                   buffer_);
  }
  return ProcessMemory::copy(source->memory, from_address, target->memory, to_address, bytes,
                             buffer_);
}

Pools::Made Machine::map_pool(ProcessId process, const Fd& file, const Pools::Part& part) {
  Process* const found = find(process);
  if (found == nullptr) return {EINVAL, 0};
  const Pools::Made made = found->pools.map(file, part);
  if (made.error != 0) return made;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const auto& [id, other] : processes_) {
    count += other.pools.count();
    bytes += other.pools.bytes();
  }
  if (count <= Pools::kMaxOfAll && bytes <= Pools::kMaxBytesOfAll) return made;
  found->pools.unmap(made.address);
  return {ENOMEM, 0};
}

bool Machine::at_once(ProcessId process) {
  const Process* const found = find(process);
  return found == nullptr || !found->bounce;
}

Ticket Machine::order(ProcessId process, const RemoteMemoryOp& order,
                      std::span<const std::byte> bytes) {
  Process* const found = find(process);
  if (found == nullptr || !found->bounce) return 0;
  const Ticket ticket = found->bounce->order(order, bytes);
  if (ticket == 0) return 0;
  ++counts_.transfers;
  counts_.bytes += order.bytes;
  return ticket;
}

Transfer Machine::collect(ProcessId process, Ticket ticket, std::span<std::byte> to) {
  Process* const found = find(process);
  return found == nullptr || !found->bounce ? Transfer::refused
                                            : found->bounce->collect(ticket, to);
}

void Machine::forget(ProcessId process, Ticket ticket) {
  if (Process* const found = find(process); found != nullptr && found->bounce)
    found->bounce->forget(ticket);
}

bool Machine::alive(ProcessId process) {
  const Process* const found = find(process);
  return found != nullptr && found->memory.is_there();
}

Host::Shared Machine::allocate(ProcessId process, std::uint64_t bytes) {
  Process* const found = find(process);
  return found == nullptr ? Shared{} : found->chunks.allocate(bytes);
}

void Machine::release(ProcessId process, const Region& region) {
  if (Process* const found = find(process)) found->chunks.release(region);
}

void Machine::wake(ProcessId process) {
  Process* const found = find(process);
  if (found == nullptr) return;
  std::atomic<std::uint32_t>& doorbell = found->chunks.page().doorbell;
  doorbell.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(reinterpret_cast<const std::uint32_t*>(&doorbell));
  ++counts_.wakes;
}

void Machine::send_event(ProcessId id, EventSocket& socket, std::span<const std::byte> event) {
  ++counts_.events;
  const bool full_before = socket.keeps();
  if (!socket.send(event)) deaf_.push_back(id);
  if (socket.keeps() && !full_before) full_.push_back({id, socket.descriptor()});
}

void Machine::completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) {
  Process* const found = find(process);
  if (found == nullptr) return;
  const auto socket = found->channels.find(channel);
  if (socket == found->channels.end()) return;
  send_event(process, socket->second, std::as_bytes(std::span(&cookie, 1)));
}

void Machine::async_event(ProcessId process, const AsyncEvent& event) {
  if (Process* const found = find(process)) {
    send_event(process, found->async, std::as_bytes(std::span(&event, 1)));
  }
}

std::optional<std::uint32_t> Machine::node_of(const Gid& gid, bool is_global, std::uint16_t lid) {
  return fabric_ == nullptr ? std::nullopt : fabric_->node_of(gid, is_global, lid);
}

std::vector<std::uint32_t> Machine::known_nodes() {
  return fabric_ == nullptr ? std::vector<std::uint32_t>() : fabric_->known_nodes();
}

bool Machine::ready(std::uint32_t node) {
  return fabric_ == nullptr || fabric_->ready(node);
}

bool Machine::send(std::uint32_t node, std::span<const std::byte> header,
                   std::span<const std::byte> payload) {
  return fabric_ != nullptr && fabric_->send(node, header, payload, monotonic_ns());
}

bool Machine::flush(ProcessId process, int descriptor) {
  Process* const found = find(process);
  if (found == nullptr) return false;
  EventSocket* socket = found->async.descriptor() == descriptor ? &found->async : nullptr;
  for (auto& [number, channel] : found->channels)
    if (channel.descriptor() == descriptor) socket = &channel;
  if (socket == nullptr) return false;
  socket->flush();
  return socket->keeps();
}

}  // namespace scela::hca
