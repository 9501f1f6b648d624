// Steps, and the bytes that they move (hca/core/model/transfer.h).
#include "hca/core/model/transfer.h"

#include <algorithm>
#include <cstring>

#include "hca/core/model/state.h"

namespace scela::hca {
namespace {

// The least time (ns) that a step waits for the memory of another, stopped process; the transport's
// timeouts may be longer. It is longer than a running process waits for a processor on any usable
// machine.
constexpr Moment kLeastPatience = 10'000'000'000;

}  // namespace

void Engine::State::begin_step(Qp& qp, Step& taken, const Step::Key& key) {
  if (taken.key != key) forget(taken);
  taken.key = key;
  taken.qp = qp.handle;
  taken.next = 0;
  taken.held = false;
  taken.crowded = false;
  taken.again = !taken.moves.empty();
  step = &taken;
}

// Returns true if the step is held and must be taken again.
bool Engine::State::end_step(Step& taken) {
  step = nullptr;
  if (!taken.held) forget(taken);
  if (taken.held && taken.crowded) give_up(taken);
  return taken.held;
}

// Drops the bytes that a held step keeps, because other steps of the process need the room; they
// are fetched again. Old values of atomic operations and transfers under way stay.
void Engine::State::give_up(Step& taken) {
  for (Move& move : taken.moves) {
    if (move.kept.empty() || move.ticket != 0) continue;
    move.kept = {};
    move.fetched = false;
    if (move.what.kind != Move::Kind::read) continue;
    move.done = 0;
    move.state = Transfer::later;
  }
}

// Ends a step: all its moves are final, or are not needed any more.
void Engine::State::forget(Step& taken) {
  taken.filling = 0;
  if (taken.held && &taken != step) {
    taken.held = false;
    carried(taken.waits_for);
  }
  if (taken.moves.empty()) return;
  std::vector<Move> moves = std::move(taken.moves);
  taken.moves.clear();
  taken.next = 0;
  for (const Move& move : moves)
    forget(move);
}

void Engine::State::forget(const Move& move) {
  if (move.ticket == 0) return;
  host.forget(move.with, move.ticket);
  carried(move.with);
}

// Drops the steps of a queue pair that is reset, destroyed or in error.
void Engine::State::forget_steps(Qp& qp) {
  for (Step* taken : {&qp.sending, &qp.arriving, &qp.serving}) {
    forget(*taken);
    taken->held = false;
  }
  qp.arrived.clear();
  lose_patience(qp, std::nullopt);
}

// Returns true if the step may fill that receive request. Returns false if another step fills it;
// this step is then held until that one has ended. If another step has filled the previous request,
// this step's moves do not count, even if both requests name the same memory.
bool Engine::State::may_fill(Receiving& received) {
  if (!step || step->filling == received.taking) return true;
  if (Qp* const other = qps.find(received.filler)) {
    for (const Step* const taken : {&other->sending, &other->serving}) {
      if (taken == step || !taken->held || taken->filling != received.taking) continue;
      hold(received.owner);
      return false;
    }
  }
  forget(*step);
  step->filling = received.taking;
  received.filler = step->qp;
  return true;
}

// An order of that process is over, or there is room for another: the queue pairs that wait for it
// run again.
void Engine::State::carried(ProcessId process) {
  const auto found = waiting_for.find(process);
  if (found == waiting_for.end()) return;
  const std::set<std::uint32_t> queue_pairs = std::move(found->second);
  waiting_for.erase(found);
  for (const std::uint32_t number : queue_pairs)
    if (Qp* qp = qps.find(number)) schedule(*qp);
}

void Engine::State::lose_patience(Qp& qp, std::optional<Moment> moment) {
  if (qp.patience && qp.patience != qp.until) timers.erase({*qp.patience, qp.handle});
  qp.patience = moment;
  if (moment) timers.insert({*moment, qp.handle});
}

// Handles a held sending step. It may wait for its own process without limit. If it waits too long
// for another process, it ends as if there had been no answer. Returns false if it goes on waiting.
bool Engine::State::is_over(Qp& qp) {
  if (qp.sending.waits_for == qp.owner || (qp.reliable() && qp.attributes.timeout == 0))
    return false;
  if (!qp.patience) {
    const Moment silence = (4096ULL << qp.attributes.timeout) * (qp.attributes.retry_count + 1);
    lose_patience(qp, now + std::max(kLeastPatience, qp.reliable() ? silence : 0));
    return false;
  }
  if (now < *qp.patience) return false;
  lose_patience(qp, std::nullopt);
  forget(qp.sending);
  qp.sending.held = false;
  Outgoing& out = qp.window[qp.sent];
  if (!qp.reliable()) out.sent = out.bytes;  // lost without an error
  settle(qp, out, qp.reliable() ? Status::retry_exceeded : Status::success);
  return true;
}

Transfer Engine::State::hold(ProcessId process) {
  step->held = true;
  step->waits_for = process;
  waiting_for[process].insert(step->qp);
  return Transfer::later;
}

// Carries out one order for the next bytes of the move.
Transfer Engine::State::carry(Move& move, ProcessId process, const RemoteMemoryOp& order,
                              std::span<const std::byte> from, std::span<std::byte> to) {
  if (move.ticket == 0) {
    if (!host.alive(process)) return Transfer::refused;
    move.ticket = host.order(process, order, from);
    if (move.ticket == 0) return hold(process);
    move.with = process;
  }
  const Transfer state = host.collect(process, move.ticket, to);
  if (state == Transfer::later) return hold(process);
  move.ticket = 0;
  carried(process);
  return state;
}

Transfer Engine::State::fetch(Move& move, ProcessId process, std::uint64_t address,
                              std::span<std::byte> to) {
  if (at_once(process, address))
    return host.read(process, address, to) ? Transfer::done : Transfer::refused;
  return carry(move, process, {OrderKind::fetch, 0, address, to.size(), 0, 0}, {}, to);
}

Transfer Engine::State::store(Move& move, ProcessId process, std::uint64_t address,
                              std::span<const std::byte> from) {
  if (at_once(process, address))
    return host.write(process, address, from) ? Transfer::done : Transfer::refused;
  return carry(move, process, {OrderKind::store, 0, address, from.size(), 0, 0}, from, {});
}

// Changes a number atomically with respect to all verbs operations on that process's memory.
Transfer Engine::State::change(Move& move) {
  const Move::What& what = move.what;
  if (!at_once(what.to, what.to_address))
    return carry(move, what.to, {what.change, 0, what.to_address, 8, what.compare_add, what.swap},
                 {}, move.before);
  std::uint64_t before = 0;
  if (!host.read(what.to, what.to_address, move.before)) return Transfer::refused;
  std::memcpy(&before, move.before.data(), sizeof before);
  const std::uint64_t after = changed(what.change, before, what.compare_add, what.swap);
  return host.write(what.to, what.to_address, std::as_bytes(std::span(&after, 1)))
             ? Transfer::done
             : Transfer::refused;
}

// Returns the move that the step comes to. If the step has been here before, the move continues.
Move& Engine::State::next_move(const Move::What& what) {
  std::vector<Move>& moves = step->moves;
  const std::size_t at = step->next++;
  if (at < moves.size() && moves[at].what == what) return moves[at];
  // The step takes another path than before, so the remaining moves are obsolete.
  while (moves.size() > at) {
    const Move gone = std::move(moves.back());
    moves.pop_back();
    forget(gone);
  }
  moves.emplace_back().what = what;
  return moves.back();
}

Transfer Engine::State::go_on(Move& move, std::span<const std::byte> from) {
  const Move::What& what = move.what;
  if (what.kind == Move::Kind::change) return change(move);
  const bool copies = what.kind == Move::Kind::copy;
  if (copies && at_once(what.from, what.from_address) && at_once(what.to, what.to_address))
    return host.copy(what.from, what.from_address, what.to, what.to_address, what.bytes)
               ? Transfer::done
               : Transfer::refused;
  if (what.kind == Move::Kind::read && move.kept.empty() && !make_room(move, what.from, what.bytes))
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
      if (!move.fetched) {
        // The bytes count for the process that may keep them waiting.
        const ProcessId slow = at_once(what.to, what.to_address) ? what.from : what.to;
        if (move.kept.empty() && !make_room(move, slow, std::min(what.bytes, kOrderBytes)))
          return Transfer::later;
        state = fetch(move, what.from, source, move.kept.bytes().first(bytes));
        move.fetched = state == Transfer::done;
      }
      if (move.fetched) state = store(move, what.to, target, move.kept.bytes().first(bytes));
      if (state == Transfer::done) move.fetched = false;
    }
    if (state != Transfer::done) return state;
    move.done += bytes;
  }
  return Transfer::done;
}

Transfer Engine::State::transfer(const Move::What& what, std::span<const std::byte> from,
                                 std::span<std::byte> to) {
  if (!step) return Transfer::refused;
  Move& move = next_move(what);
  if (move.state == Transfer::later) move.state = go_on(move, from);
  if (move.state == Transfer::done && !to.empty())
    std::memcpy(to.data(),
                what.kind == Move::Kind::change ? move.before.data() : move.kept.bytes().data(),
                to.size());
  return move.state;
}

Transfer Engine::State::read(ProcessId process, std::uint64_t address, std::span<std::byte> to) {
  if (to.empty()) return Transfer::done;
  // No bytes are kept for this: a step that is taken again finds them there again.
  if (distant.empty() || at_once(process, address))
    return host.read(process, address, to) ? Transfer::done : Transfer::refused;
  Move::What what;
  what.kind = Move::Kind::read;
  what.from = process;
  what.from_address = address;
  what.bytes = to.size();
  return transfer(what, {}, to);
}

Transfer Engine::State::write(ProcessId process, std::uint64_t address,
                              std::span<const std::byte> from) {
  if (distant.empty())
    return host.write(process, address, from) ? Transfer::done : Transfer::refused;
  Move::What what;
  what.kind = Move::Kind::write;
  what.to = process;
  what.to_address = address;
  what.bytes = from.size();
  return transfer(what, from, {});
}

Transfer Engine::State::copy(ProcessId from, std::uint64_t from_address, ProcessId to,
                             std::uint64_t to_address, std::uint64_t bytes) {
  if (distant.empty())
    return host.copy(from, from_address, to, to_address, bytes) ? Transfer::done
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

Transfer Engine::State::change(ProcessId process, std::uint64_t address, const SendRequest& request,
                               std::uint64_t& before) {
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
  if (!distant.empty()) return transfer(move.what, {}, to);
  const Transfer state = change(move);
  if (state == Transfer::done) std::memcpy(to.data(), move.before.data(), to.size());
  return state;
}

}  // namespace scela::hca
