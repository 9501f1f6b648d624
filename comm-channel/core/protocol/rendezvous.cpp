#include "comm-channel/core/protocol/rendezvous.h"

#include <algorithm>
#include <bit>

namespace scela::channel {
namespace {

Step step_of(Act act, std::uint64_t bytes = 0, Outcome outcome = Outcome::none) {
  Step step;
  step.act = act;
  step.bytes = bytes;
  step.outcome = outcome;
  return step;
}

}  // namespace

Steps SendTransfer::start() {
  state_ = State::offered;
  Steps steps;
  steps.add(step_of(Act::say_offer, length_));
  return steps;
}

Steps SendTransfer::cts(const Cts& cts) {
  Steps steps;
  if (state_ != State::offered) return steps;
  const bool possible = (cts.way & ways_ & (way::kWrite | way::kPieces)) != 0 &&
                        cts.length <= length_ && cts.length > 0;
  if (!possible) {
    steps.add(step_of(Act::say_done, 0, Outcome::device));
    for (const Step& step : finish(Outcome::device))
      steps.add(step);
    return steps;
  }
  taken_ = cts.length;
  state_ = cts.way == way::kWrite ? State::writing : State::pieces;
  Step step = step_of(state_ == State::writing ? Act::write : Act::pieces, taken_);
  step.remote = cts.address;
  step.key = cts.key;
  steps.add(step);
  return steps;
}

Steps SendTransfer::fin(const Fin& fin) {
  // During an RDMA write the buffer becomes free only when the write ends.
  if (state_ != State::offered && state_ != State::pieces) return {};
  taken_ = std::min(fin.bytes, length_);
  return finish(fin.outcome);
}

Steps SendTransfer::written(Outcome outcome) {
  Steps steps;
  if (state_ == State::orphaned) return finish(Outcome::peer_ended);
  if (state_ != State::writing) return steps;
  steps.add(step_of(Act::say_done, outcome == Outcome::none ? taken_ : 0, outcome));
  for (const Step& step : finish(outcome))
    steps.add(step);
  return steps;
}

Steps SendTransfer::piece_sent(std::uint64_t bytes) {
  if (state_ != State::pieces) return {};
  sent_ += std::min(bytes, left());
  return left() == 0 ? finish(Outcome::none) : Steps{};
}

Steps SendTransfer::piece_lost() {
  if (state_ != State::pieces) return {};
  taken_ = 0;
  Steps steps;
  steps.add(step_of(Act::say_done, 0, Outcome::device));
  for (const Step& step : finish(Outcome::device))
    steps.add(step);
  return steps;
}

Steps SendTransfer::peer_ended() {
  if (state_ == State::writing) state_ = State::orphaned;
  if (state_ == State::orphaned || state_ == State::complete) return {};
  return finish(Outcome::peer_ended);
}

Steps SendTransfer::finish(Outcome outcome) {
  state_ = State::complete;
  Steps steps;
  steps.add(step_of(Act::complete, taken_, outcome));
  return steps;
}

ReceiveTransfer::ReceiveTransfer(const Rts& rts, std::uint64_t room, std::uint32_t ways,
                                 std::uint32_t prefer)
    : rts_(rts),
      room_(room),
      take_(std::min(rts.length, room)),
      ways_(ways & rts.ways),
      prefer_(prefer) {}

Steps ReceiveTransfer::start() {
  if (take_ == 0) return finish(Outcome::none, true);
  if (ways_ == 0) return finish(Outcome::device, true);
  // The cheapest way is chosen, in this order: a copy, a read, a write, pieces.
  std::uint32_t chosen = way::kPieces;
  for (const std::uint32_t way : {way::kWrite, way::kRead, way::kCopy})
    if ((ways_ & way) != 0) chosen = way;
  if ((ways_ & prefer_) != 0) chosen = std::bit_floor(ways_ & prefer_);
  return chosen == way::kRead || chosen == way::kCopy ? fetch(chosen) : ask(chosen);
}

Steps ReceiveTransfer::fetch(std::uint32_t way) {
  state_ = State::fetching;
  Step step = step_of(way == way::kRead ? Act::read : Act::copy, take_);
  step.remote = rts_.address;
  step.key = rts_.key;
  Steps steps;
  steps.add(step);
  return steps;
}

Steps ReceiveTransfer::ask(std::uint32_t way) {
  state_ = way == way::kWrite ? State::awaits_write : State::awaits_pieces;
  Step step = step_of(Act::say_ready, take_);
  step.way = way;
  Steps steps;
  steps.add(step);
  return steps;
}

Steps ReceiveTransfer::refuse(Outcome outcome) {
  take_ = 0;
  return finish(outcome, true);
}

Steps ReceiveTransfer::fetched(Outcome outcome) {
  // The bytes that have arrived count, though no peer is left to be told.
  if (state_ == State::orphaned)
    return finish(outcome == Outcome::none ? outcome : Outcome::peer_ended, false);
  if (state_ != State::fetching) return {};
  return finish(outcome, true);
}

Steps ReceiveTransfer::copy_refused() {
  if (state_ == State::orphaned) return finish(Outcome::peer_ended, false);
  if (state_ != State::fetching) return {};
  if ((ways_ & way::kPieces) == 0) return finish(Outcome::device, true);
  return ask(way::kPieces);
}

Steps ReceiveTransfer::piece(std::uint64_t offset, std::uint64_t bytes) {
  if (state_ != State::awaits_pieces) return {};
  if (offset != received_ || bytes > take_ - received_ || bytes == 0)
    return finish(Outcome::device, true);
  received_ += bytes;
  return received_ == take_ ? finish(Outcome::none, false) : Steps{};
}

Steps ReceiveTransfer::piece_lost() {
  return state_ == State::awaits_pieces ? finish(Outcome::device, true) : Steps{};
}

Steps ReceiveTransfer::fin(const Fin& fin) {
  // If a write failed, some of its bytes may still be under way.
  if (state_ == State::awaits_write)
    return fin.outcome == Outcome::none ? finish(Outcome::none, false) : revoke(fin.outcome);
  if (state_ == State::awaits_pieces && fin.outcome != Outcome::none)
    return finish(fin.outcome, false);
  return {};
}

Steps ReceiveTransfer::revoked() {
  return state_ == State::revoking ? finish(outcome_, false) : Steps{};
}

Steps ReceiveTransfer::peer_ended() {
  switch (state_) {
    case State::fetching:
      state_ = State::orphaned;
      break;
    case State::awaits_write:
      // Bytes that the peer wrote before it ended may still be under way.
      return revoke(Outcome::peer_ended);
    case State::idle:
    case State::awaits_pieces:
      return finish(Outcome::peer_ended, false);
    case State::orphaned:
    case State::revoking:
    case State::complete:
      break;
  }
  return {};
}

Steps ReceiveTransfer::revoke(Outcome outcome) {
  state_ = State::revoking;
  outcome_ = outcome;
  Steps steps;
  steps.add(step_of(Act::revoke));
  return steps;
}

Steps ReceiveTransfer::finish(Outcome outcome, bool tell) {
  state_ = State::complete;
  const std::uint64_t taken = outcome == Outcome::none ? take_ : 0;
  Steps steps;
  if (tell) steps.add(step_of(Act::say_done, taken, outcome));
  Step step = step_of(Act::complete, taken, outcome);
  step.truncated = outcome == Outcome::none && rts_.length > room_;
  steps.add(step);
  return steps;
}

}  // namespace scela::channel
