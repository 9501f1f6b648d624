#include "collectives/executors/run/run_messages.h"

#include <optional>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

void RunMessages::reserve(const Plan& plan) {
  if (flights_.size() < plan.messages()) flights_.resize(plan.messages());
  if (slots_.size() < plan.receives()) slots_.resize(plan.receives());
}

void RunMessages::send(const Plan::Step& step) {
  RunBuffers& buffers = call_.buffers();
  Flight& flight = flights_[step.message];
  flight.bytes = buffers.bytes_of(step.from);
  std::span<const std::byte> bytes;
  if (failure_) {
    bytes = failure_.note().instead_of(flight.bytes);
  } else if (buffers.is_run(step.from)) {
    bytes = {buffers.first_of(step.from), flight.bytes};
  } else {
    std::byte* const packed = buffers.stage(flight.bytes);
    buffers.pack(step.from, packed);
    bytes = {packed, flight.bytes};
  }
  flight.ticket = transport_->send(call_.peer_of(step.peer), call_.call().route, bytes);
}

void RunMessages::receive(const Plan::Step& step) {
  RunBuffers& buffers = call_.buffers();
  Flight& flight = flights_[step.message];
  flight.bytes = buffers.bytes_of(step.to);
  std::uint64_t room = flight.bytes;
  flight.unpack = true;
  if (failure_ || flight.bytes <= FailureNote::kBytes) {
    Slot& slot = slots_[slots_used_++];
    flight.landing = slot.data();
    room = slot.size();
  } else if (buffers.is_run(step.to)) {
    flight.landing = buffers.first_of(step.to);
    flight.unpack = false;
  } else {
    flight.landing = buffers.stage(flight.bytes);
  }
  flight.ticket =
      transport_->receive(call_.peer_of(step.peer), call_.call().route, {flight.landing, room});
}

bool RunMessages::complete_if_over(std::uint32_t message) {
  const Transport::Ticket ticket = flights_[message].ticket;
  const Outcome outcome = transport_->test(ticket);
  if (!outcome.over) {
    waits_for_ = ticket;
    return false;
  }
  complete(message, outcome);
  return true;
}

void RunMessages::complete(std::uint32_t message, const Outcome& outcome) {
  if (failure_) return;
  const Plan& plan = *call_.plan();
  const Plan::Step& step = plan.steps()[plan.begun_by()[message]];
  if (outcome.fault) {
    // If a resource is exhausted, this rank is at fault itself.
    const bool is_own = outcome.fault->code == FaultCode::resources;
    record(step, {outcome.fault->code, is_own ? -1 : step.peer,
                  cat("rank ", step.peer, ": ", outcome.fault->words)});
    return;
  }
  if (step.kind == Kind::receive) complete_receive(step, flights_[message], outcome.bytes);
}

void RunMessages::complete_receive(const Plan::Step& step, const Flight& flight,
                                   std::uint64_t bytes) {
  if (bytes == flight.bytes) {
    if (flight.unpack) call_.buffers().unpack(flight.landing, step.to);
    return;
  }
  if (bytes == FailureNote::length(flight.bytes)) {
    if (std::optional<Fault> fault = FailureNote::read({flight.landing, bytes}, step.peer)) {
      record(step, std::move(*fault));
      return;
    }
  }
  record(step, {FaultCode::mismatch, step.peer,
                cat("rank ", step.peer, ": it sent ", bytes, " bytes where rank ",
                    call_.call().rank, " expects ", flight.bytes,
                    ": ranks must call operations in the same order, with equal sizes")});
}

void RunMessages::record(const Plan::Step& step, Fault fault) {
  failure_.record(std::move(fault), step.task, call_.plan()->list(), call_.call().rank);
}

void RunMessages::cancel(const std::vector<bool>& under_way) {
  for (std::uint32_t message = 0; message < under_way.size(); ++message)
    if (under_way[message] && flights_[message].ticket != Transport::kGone)
      transport_->cancel(flights_[message].ticket);
}

void RunMessages::withdraw(const std::vector<bool>& under_way) {
  const Plan& plan = *call_.plan();
  awaited_.clear();
  for (std::uint32_t message = 0; message < under_way.size(); ++message) {
    if (!under_way[message]) continue;
    awaited_.push_back(message);
    if (plan.steps()[plan.begun_by()[message]].kind == Kind::receive)
      transport_->withdraw(flights_[message].ticket);
  }
}

void RunMessages::send_and_await(const Plan::Step& step) {
  send(step);
  awaited_.push_back(step.message);
}

bool RunMessages::is_drained() {
  while (!awaited_.empty()) {
    const Transport::Ticket ticket = flights_[awaited_.back()].ticket;
    if (!transport_->test(ticket).over) {
      waits_for_ = ticket;
      return false;
    }
    awaited_.pop_back();
  }
  return true;
}

void RunMessages::cancel_awaited() {
  for (const std::uint32_t message : awaited_)
    transport_->cancel(flights_[message].ticket);
}

}  // namespace scela::collectives
