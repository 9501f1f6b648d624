#include "collectives/executors/run/run.h"

#include <new>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

Run::~Run() {
  if (is_under_way()) cancel({FaultCode::cancelled, -1, "the operation was given up"});
}

Result<void> Run::bind(Call call) {
  if (!is_over()) return fail(refused_call("it is under way: wait for it first"));
  if (!call_.fits_as_before(call))
    if (auto fitting = BoundCall::check(call); !fitting) return fitting;
  try {
    call_.bind(std::move(call));
    if (const Plan* const plan = this->call().plan.get()) messages_.reserve(*plan);
    if (const Prelude* const prelude = call_.prelude()) messages_.reserve(*prelude->plan);
  } catch (const std::bad_alloc&) {
    call_.forget_fit();  // its messages may have no room
    return fail(
        {ErrorKind::io, "start a collective operation", "",
         cat("there is no memory for its scratch of ", layout().of(Space::scratch).end(), " bytes"),
         "an algorithm with more segments needs less"});
  }
  return {};
}

void Run::begin(Transport& transport) {
  messages_.begin(transport);
  cursor_.restart(*call_.plan());
  failure_.clear();
  signals_.store(0, std::memory_order_relaxed);
  state_ = State::running;
  looks_ = 0;
  claim();
  if (call().refused && call().prelude == nullptr) record(*call().refused, kNoTask);
}

void Run::begin_elsewhere() {
  failure_.clear();
  signals_.store(0, std::memory_order_relaxed);
  claim();
}

void Run::end_elsewhere(const Fault* fault) {
  if (fault != nullptr) record(*fault, kNoTask);
  finish();
}

bool Run::advance(Ends* ends) {
  const bool goes_on = carry_out_steps();
  if (ends != nullptr && failure_ && failure_.is_lasting()) fill(*ends);
  if (!goes_on) finish();
  return goes_on;
}

bool Run::carry_out_steps() {
  if (state_ == State::draining) return !messages_.is_drained();
  do {
    while (!cursor_.is_at_end()) {
      if (!carry_out(cursor_.step())) return true;
      cursor_.pass_step();
    }
  } while (end_prelude());
  return false;
}

bool Run::carry_out(const Plan::Step& step) {
  switch (step.kind) {
    case Kind::send:
      messages_.send(step);
      return true;
    case Kind::receive:
      messages_.receive(step);
      return true;
    case Kind::wait_sent:
    case Kind::wait_received:
      return wait();
    case Kind::copy:
      if (!failure_) call_.buffers().copy(step);
      return true;
    case Kind::reduce:
      if (!failure_) call_.buffers().reduce(step, call().reduction);
      return true;
    case Kind::signal:
      if (!failure_) signals_.fetch_add(1, std::memory_order_release);
      return true;
    case Kind::enable:
      return true;  // plans have none
  }
  return true;
}

bool Run::wait() {
  for (; !cursor_.is_wait_over(); cursor_.pass_message())
    if (!messages_.complete_if_over(cursor_.message())) return false;
  return true;
}

// All ranks judge alike, so that none begins the call in vain. A rank that could not receive from
// all others, since one has died, goes on to send notes to those that live.
bool Run::end_prelude() {
  const Prelude* const prelude = call_.prelude();
  if (prelude == nullptr) return false;
  if (!failure_) {
    if (std::optional<Fault> wrong = prelude->judge()) {
      record(std::move(*wrong), kNoTask);
      return false;
    }
    if (const Prelude* const next = prelude->next ? prelude->next() : nullptr) {
      messages_.reserve(*next->plan);
      call_.begin_prelude(*next);
      begin_list();
      return true;
    }
  }
  if (!call_.end_prelude()) return false;
  begin_list();
  if (call().refused) record(*call().refused, kNoTask);
  return true;
}

void Run::begin_list() {
  messages_.begin_list();
  cursor_.restart(*call_.plan());
}

void Run::record(Fault fault, std::uint32_t task) {
  failure_.record(std::move(fault), task, call_.plan()->list(), call().rank);
}

void Run::fill(Ends& ends) const {
  const Fault& fault = failure_.error()->fault;
  const std::size_t ranks = peers().empty() ? ~std::size_t{0} : peers().size();
  if (fault.rank < 0 || fault.rank == call().rank || static_cast<std::size_t>(fault.rank) >= ranks)
    return;
  ends.rank = call_.peer_of(fault.rank);
  ends.refusal = fault.code == FaultCode::peer_ended ? Refusal::none : Refusal::other;
  call_.list_peers(ends.peers);
}

void Run::cancel(Fault why) {
  switch (state_) {
    case State::idle:
      return;
    case State::running:
      messages_.cancel(cursor_.messages_under_way());
      record(std::move(why), cursor_.task());
      break;
    case State::draining:
      messages_.cancel_awaited();
      break;
  }
  finish();
}

void Run::abandon(Fault why) {
  if (state_ != State::running) return;
  messages_.withdraw(cursor_.messages_under_way());
  record(std::move(why), cursor_.task());
  state_ = State::draining;
  if (cursor_.is_at_begin()) return;
  for (const Plan::Step& step : cursor_.steps_left())
    if (step.kind == Kind::send) messages_.send_and_await(step);
}

std::optional<AbortedContext> Run::word_if_stalled() {
  if (kind() == 0 || peers().size() < 2 || looks_++ != 1) return std::nullopt;
  AbortedContext word;
  word.context = context();
  word.rank = own_rank();
  word.about = About::calls;
  word.kind = kind();
  word.begun = number();
  return word;
}

}  // namespace scela::collectives
