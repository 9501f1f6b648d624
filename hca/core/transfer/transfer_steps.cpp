#include "hca/core/transfer/transfer_steps.h"

#include <utility>

namespace scela::hca {

// Drops the bytes that a held step keeps, because other steps of the process need the room; they
// are fetched again. Old values of atomic operations and transfers under way stay.
void TransferSteps::drop_kept_bytes(Step& step) {
  for (Move& move : step.moves) {
    if (move.kept.empty() || move.ticket != 0) continue;
    move.kept = {};
    move.fetched = false;
    if (move.what.kind != Move::Kind::read) continue;
    move.done = 0;
    move.state = Transfer::later;
  }
}

void TransferSteps::abandon_moves(Step& step) {
  if (step.held && &step != present_) {
    step.held = false;
    schedule_waiting(step.waits_for);
  }
  if (step.moves.empty()) return;
  std::vector<Move> moves = std::move(step.moves);
  step.moves.clear();
  step.next = 0;
  for (const Move& move : moves)
    abandon(move);
}

void TransferSteps::abandon(const Move& move) {
  if (move.ticket == 0) return;
  programs_.forget(move.with, move.ticket);
  schedule_waiting(move.with);
}

void TransferSteps::abandon_all(Qp& qp) {
  for (Step* step : {&qp.sending, &qp.arriving, &qp.serving}) {
    abandon(*step);
    step->held = false;
  }
  qp.arrived.clear();
  scheduler_.limit_wait(qp, std::nullopt);
}

// Returns true if the step may fill that receive request. Returns false if another step fills it;
// this step is then held until that one has ended. If another step has filled the previous request,
// this step's moves do not count, even if both requests name the same memory.
bool TransferSteps::may_fill(Receiving& received) {
  if (!present_ || present_->filling == received.taking) return true;
  if (Qp* const other = objects_.find<Qp>(received.filler)) {
    for (const Step* const step : {&other->sending, &other->serving}) {
      if (step == present_ || !step->held || step->filling != received.taking) continue;
      hold(received.owner);
      return false;
    }
  }
  abandon(*present_);
  present_->filling = received.taking;
  received.filler = present_->qp;
  return true;
}

void TransferSteps::schedule_waiting(ProcessId process) {
  const auto found = waiting_.find(process);
  if (found == waiting_.end()) return;
  const std::set<std::uint32_t> queue_pairs = std::move(found->second);
  waiting_.erase(found);
  scheduler_.schedule_all(queue_pairs);
}

Transfer TransferSteps::hold(ProcessId process) {
  present_->held = true;
  present_->waits_for = process;
  waiting_[process].insert(present_->qp);
  return Transfer::later;
}

Move& TransferSteps::next_move(const Move::What& what) {
  std::vector<Move>& moves = present_->moves;
  const std::size_t at = present_->next++;
  if (at < moves.size() && moves[at].what == what) return moves[at];
  // The step takes another path than before, so the remaining moves are obsolete.
  while (moves.size() > at) {
    const Move gone = std::move(moves.back());
    moves.pop_back();
    abandon(gone);
  }
  moves.emplace_back().what = what;
  return moves.back();
}

bool TransferSteps::make_room(Move& move, ProcessId process, std::uint64_t bytes) {
  if (kept_.would_exceed(process, RoomFor::moves, bytes) && !may_exceed(process)) {
    present_->crowded = true;
    kept_.wait_for_room(process, RoomFor::moves, present_->qp);
    hold(process);
    return false;
  }
  move.kept = CountedBytes(kept_.counter(process, RoomFor::moves), bytes);
  return true;
}

// Returns whether the step may exceed the limit. One step for each process may, until it is over;
// otherwise all steps might give up their bytes again and again.
bool TransferSteps::may_exceed(ProcessId process) {
  std::uint32_t& first = first_of_[process];
  const Qp* const qp = objects_.find<Qp>(first);
  const bool moves = qp && (qp->sending.held || qp->arriving.held || qp->serving.held);
  if (!moves) first = present_->qp;
  return first == present_->qp;
}

void TransferSteps::detach(ProcessId process) {
  first_of_.erase(process);
  schedule_waiting(process);
}

}  // namespace scela::hca
