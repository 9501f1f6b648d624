// Steps, and what they move (transfer.h).
#include "hca/core/transfer.h"

#include <algorithm>
#include <cstring>

#include "hca/core/state.h"

namespace scela::hca {
namespace {

// For a stopped process whose memory somebody else needs, at least; else the transport's timeouts.
// Longer than a process that is not stopped waits for a processor on any machine that works at all.
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

// True: it is held, and to be taken again.
bool Engine::State::end_step(Step& taken) {
  step = nullptr;
  if (!taken.held) forget(taken);
  if (taken.held && taken.crowded) give_up(taken);
  return taken.held;
}

// Others of the same process need the room; it is fetched again. What a number was is not given up,
// nor what is on its way.
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

// All that it moved has been moved for good, or nobody wants it any more.
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

// It begins anew, or goes.
void Engine::State::forget_steps(Qp& qp) {
  for (Step* taken : {&qp.sending, &qp.arriving, &qp.serving}) {
    forget(*taken);
    taken->held = false;
  }
  qp.arrived.clear();
  lose_patience(qp, std::nullopt);
}

// The step fills that receive request; false: another fills it, and this one is held until that has
// ended. What it has moved to another request, which somebody else has filled meanwhile, does not
// count, though it may be the same memory.
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

// An order of that process is over, or there is room for another: who waits for it looks again.
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

// The sending step is held. Its own process may take its time; another's ends it as silence would.
// False: it goes on waiting.
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
  if (!qp.reliable()) out.sent = out.bytes;  // lost, and nobody is told
  settle(qp, out, qp.reliable() ? Status::retry_exceeded : Status::success);
  return true;
}

Transfer Engine::State::hold(ProcessId process) {
  step->held = true;
  step->waits_for = process;
  waiting_for[process].insert(step->qp);
  return Transfer::later;
}

// One order, of what comes next in the move.
Transfer Engine::State::carry(Move& move, ProcessId process, const Order& order,
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

// As one, among all that verbs do with that process's memory.
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

// The move that the step comes to: as far as it had come, if it came here before.
Move& Engine::State::next_move(const Move::What& what) {
  std::vector<Move>& moves = step->moves;
  const std::size_t at = step->next++;
  if (at < moves.size() && moves[at].what == what) return moves[at];
  while (moves.size() > at) {  // it has taken another way
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
        // It is kept for whoever may keep it waiting.
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
  // Nothing is kept of it: a step that is taken again finds the same there.
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
