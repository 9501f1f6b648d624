#include "hca/core/transfer/memory_transfers.h"

#include <algorithm>
#include <cstring>

namespace scela::hca {

void MemoryTransfers::attach(ProcessId process) {
  if (!programs_.at_once(process)) distant_.insert(process);
}

Transfer MemoryTransfers::run_order(Move& move, ProcessId process, const RemoteMemoryOp& order,
                                    std::span<const std::byte> from, std::span<std::byte> to) {
  if (move.ticket == 0) {
    if (!programs_.alive(process)) return Transfer::refused;
    move.ticket = programs_.order(process, order, from);
    if (move.ticket == 0) return steps_.hold(process);
    move.with = process;
  }
  const Transfer state = programs_.collect(process, move.ticket, to);
  if (state == Transfer::later) return steps_.hold(process);
  move.ticket = 0;
  steps_.schedule_waiting(process);
  return state;
}

Transfer MemoryTransfers::fetch(Move& move, ProcessId process, std::uint64_t address,
                                std::span<std::byte> to) {
  if (reaches(process, address))
    return programs_.read(process, address, to) ? Transfer::done : Transfer::refused;
  return run_order(move, process, {OrderKind::fetch, 0, address, to.size(), 0, 0}, {}, to);
}

Transfer MemoryTransfers::store(Move& move, ProcessId process, std::uint64_t address,
                                std::span<const std::byte> from) {
  if (reaches(process, address))
    return programs_.write(process, address, from) ? Transfer::done : Transfer::refused;
  return run_order(move, process, {OrderKind::store, 0, address, from.size(), 0, 0}, from, {});
}

// Changes a number atomically with respect to all verbs operations on that process's memory.
Transfer MemoryTransfers::change(Move& move) {
  const Move::What& what = move.what;
  if (!reaches(what.to, what.to_address))
    return run_order(move, what.to,
                     {what.change, 0, what.to_address, 8, what.compare_add, what.swap}, {},
                     move.before);
  std::uint64_t before = 0;
  if (!programs_.read(what.to, what.to_address, move.before)) return Transfer::refused;
  std::memcpy(&before, move.before.data(), sizeof before);
  const std::uint64_t after = changed(what.change, before, what.compare_add, what.swap);
  return programs_.write(what.to, what.to_address, std::as_bytes(std::span(&after, 1)))
             ? Transfer::done
             : Transfer::refused;
}

Transfer MemoryTransfers::copy_next(Move& move, std::uint64_t bytes) {
  const Move::What& what = move.what;
  if (!move.fetched) {
    // The bytes count for the process that may keep them waiting.
    const ProcessId slow = reaches(what.to, what.to_address) ? what.from : what.to;
    if (move.kept.empty() && !steps_.make_room(move, slow, std::min(what.bytes, kOrderBytes)))
      return Transfer::later;
    const Transfer state =
        fetch(move, what.from, what.from_address + move.done, move.kept.bytes().first(bytes));
    move.fetched = state == Transfer::done;
    if (!move.fetched) return state;
  }
  const Transfer state =
      store(move, what.to, what.to_address + move.done, move.kept.bytes().first(bytes));
  if (state == Transfer::done) move.fetched = false;
  return state;
}

Transfer MemoryTransfers::continue_move(Move& move, std::span<const std::byte> from) {
  const Move::What& what = move.what;
  if (what.kind == Move::Kind::change) return change(move);
  const bool copies = what.kind == Move::Kind::copy;
  if (copies && reaches(what.from, what.from_address) && reaches(what.to, what.to_address))
    return programs_.copy(what.from, what.from_address, what.to, what.to_address, what.bytes)
               ? Transfer::done
               : Transfer::refused;
  if (what.kind == Move::Kind::read && move.kept.empty() &&
      !steps_.make_room(move, what.from, what.bytes))
    return Transfer::later;
  while (move.done < what.bytes) {
    const std::uint64_t bytes = std::min(what.bytes - move.done, kOrderBytes);
    const std::uint64_t source = what.from_address + move.done;
    const std::uint64_t target = what.to_address + move.done;
    Transfer state = Transfer::done;
    if (what.kind == Move::Kind::read) {
      state = fetch(move, what.from, source, move.kept.bytes().subspan(move.done, bytes));
    } else if (what.kind == Move::Kind::write) {
      state = store(move, what.to, target, from.subspan(move.done, bytes));
    } else {
      state = copy_next(move, bytes);
    }
    if (state != Transfer::done) return state;
    move.done += bytes;
  }
  return Transfer::done;
}

Transfer MemoryTransfers::transfer(const Move::What& what, std::span<const std::byte> from,
                                   std::span<std::byte> to) {
  if (!steps_.has_present()) return Transfer::refused;
  Move& move = steps_.next_move(what);
  if (move.state == Transfer::later) move.state = continue_move(move, from);
  if (move.state == Transfer::done && !to.empty())
    std::memcpy(to.data(),
                what.kind == Move::Kind::change ? move.before.data() : move.kept.bytes().data(),
                to.size());
  return move.state;
}

Transfer MemoryTransfers::read(ProcessId process, std::uint64_t address, std::span<std::byte> to) {
  if (to.empty()) return Transfer::done;
  // No bytes are kept for this: a step that is taken again finds them there again.
  if (all_at_once() || reaches(process, address))
    return programs_.read(process, address, to) ? Transfer::done : Transfer::refused;
  Move::What what;
  what.kind = Move::Kind::read;
  what.from = process;
  what.from_address = address;
  what.bytes = to.size();
  return transfer(what, {}, to);
}

Transfer MemoryTransfers::write(ProcessId process, std::uint64_t address,
                                std::span<const std::byte> from) {
  if (all_at_once())
    return programs_.write(process, address, from) ? Transfer::done : Transfer::refused;
  Move::What what;
  what.kind = Move::Kind::write;
  what.to = process;
  what.to_address = address;
  what.bytes = from.size();
  return transfer(what, from, {});
}

Transfer MemoryTransfers::copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                               std::uint64_t to_address, std::uint64_t bytes) {
  if (all_at_once())
    return programs_.copy(from, from_address, to, to_address, bytes) ? Transfer::done
                                                                     : Transfer::refused;
  Move::What what;
  what.kind = Move::Kind::copy;
  what.from = from;
  what.to = to;
  what.from_address = from_address;
  what.to_address = to_address;
  what.bytes = bytes;
  return transfer(what, {}, {});
}

Transfer MemoryTransfers::change(ProcessId process, std::uint64_t address,
                                 const SendRequest& request, std::uint64_t& before) {
  Move move;
  move.what.kind = Move::Kind::change;
  move.what.to = process;
  move.what.to_address = address;
  move.what.bytes = 8;
  move.what.change =
      request.opcode == Opcode::compare_swap ? OrderKind::compare_swap : OrderKind::fetch_add;
  move.what.compare_add = request.compare_add;
  move.what.swap = request.swap;
  const auto to = std::as_writable_bytes(std::span(&before, 1));
  if (!all_at_once()) return transfer(move.what, {}, to);
  const Transfer state = change(move);
  if (state == Transfer::done) std::memcpy(to.data(), move.before.data(), to.size());
  return state;
}

}  // namespace scela::hca
