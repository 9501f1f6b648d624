// Short runs: small messages between ranks that have nothing else to do.
//
// For a long message both sides should know early. A short message mostly has come by the time that
// it is waited for. So it is received only then, by one call. The places of its bytes are computed
// once for all runs of a plan and layout. If something is not as expected (a message does not come,
// a note comes, a rank has ended), the run's own steps take over. The list means the same in both
// cases.
#include <cstring>
#include <new>

#include "collectives/executors/run.h"

namespace scela::collectives {

namespace {

// Up to this length in bytes, the cost of a message is software and not its bytes.
constexpr std::uint64_t kShort = 8192;

}  // namespace

void Run::compile_fast_path(const Plan& plan) {
  short_.clear();
  for (std::uint32_t number = 0; number < plan.steps().size(); ++number) {
    const Plan::Step& step = plan.steps()[number];
    FastStep one;
    one.kind = step.kind;
    one.from_right = step.from_right;
    one.step = number;
    if (step.kind != Kind::wait_sent && step.kind != Kind::wait_received) {
      one.message = step.message;
      if (!compile_fast_path(step, one)) return short_.clear();
      if (step.kind != Kind::receive) short_.push_back(one);
      continue;
    }
    for (std::uint32_t nth = 0; nth < step.count; ++nth) {
      one.nth = nth;
      one.message = plan.waited()[step.message + nth];
      if (!compile_fast_path(plan.steps()[plan.begun_by()[one.message]], one))
        return short_.clear();
      short_.push_back(one);
    }
  }
}

// Sets the places of a step's bytes. Returns false if they are too many, or not in one piece.
bool Run::compile_fast_path(const Plan::Step& step, FastStep& one) const {
  const bool reads =
      step.kind == Kind::send || step.kind == Kind::copy || step.kind == Kind::reduce;
  const bool writes =
      step.kind == Kind::receive || step.kind == Kind::copy || step.kind == Kind::reduce;
  std::uint64_t bytes = reads || writes ? kShort + 1 : 0;
  const auto place = [&](const Blocks& blocks, Space& space, std::uint64_t& offset) {
    space = blocks.space;
    offset = blocks.count == 0 ? 0 : layout_.of(blocks.space).offset(blocks.first);
    bytes = std::min(bytes, bytes_of(blocks));
    return is_run(blocks);
  };
  one.peer = step.peer;
  if (reads && !place(step.from, one.from_space, one.from)) return false;
  if (writes && !place(step.to, one.to_space, one.to)) return false;
  one.bytes = static_cast<std::uint32_t>(bytes);
  return bytes <= kShort;
}

void Run::bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number) {
  plan_ = fitted_;
  call_.plan = std::shared_ptr<const Plan>(std::shared_ptr<const void>(), fitted_);
  call_.input = input;
  call_.output = output;
  call_.route = route;
  call_.number = number;
  // These are set as in reserve_call().
  spaces_[0] = const_cast<std::byte*>(input);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  spaces_[1] = output;
}

// Runs the actions, and sets `at` to the action that it is about to do. Returns false if the run's
// own steps must go on.
[[gnu::always_inline]] inline bool Run::try_fast_path_from(const FastStep*& at) {
  const FastStep* const end = short_.data() + short_.size();
  for (const FastStep* here = short_.data(); here != end; ++here) {
    at = here;
    const FastStep& one = *here;
    const std::byte* const from = spaces_[static_cast<std::size_t>(one.from_space)] + one.from;
    std::byte* const to = spaces_[static_cast<std::size_t>(one.to_space)] + one.to;
    switch (one.kind) {
      case Kind::send: {
        Flight& flight = flights_[one.message];
        flight.bytes = one.bytes;
        flight.ticket = transport_->send(peer_of(one.peer), call_.route, {from, one.bytes});
        break;
      }
      case Kind::wait_sent:
        if (flights_[one.message].ticket == Transport::kGone || is_sent(one)) break;
        return false;
      case Kind::wait_received:
        if (take(one)) break;
        return false;
      case Kind::copy:
        if (one.bytes != 0 && from != to) std::memmove(to, from, one.bytes);
        break;
      case Kind::reduce: {
        const Reduction& with = call_.reduction;
        if (one.bytes != 0)
          with.combine(with.state, one.from_right ? to : from, one.from_right ? from : to, to,
                       one.bytes / with.element_bytes);
        break;
      }
      case Kind::signal:
        signals_.fetch_add(1, std::memory_order_release);
        break;
      case Kind::receive:  // with its wait
      case Kind::enable:   // plans have none
        break;
    }
  }
  finish();
  return true;
}

bool Run::try_fast_path() {
  if (short_.empty() || prelude_ != nullptr || error_ || abandoned_) return false;
  const FastStep* at = short_.data();
  try {
    return try_fast_path_from(at);
  } catch (const std::bad_alloc&) {
    if (position_ == 0) stop_at(*at);  // else leave() did
    throw;
  }
}

bool Run::is_sent(const FastStep& one) {
  const Outcome outcome = transport_->test(flights_[one.message].ticket);
  if (outcome.over && !outcome.fault) return true;
  leave(one, outcome);
  return false;
}

// Receives the message of a wait. The messages of one peer are waited for in the order in which
// their receives begin, so that each gets its own.
bool Run::take(const FastStep& one) {
  std::byte* const to = spaces_[static_cast<std::size_t>(one.to_space)] + one.to;
  Flight& flight = flights_[one.message];
  flight.bytes = one.bytes;
  flight.unpack = one.bytes <= kNote;
  // A slot has room for a note as well.
  flight.landing = flight.unpack ? slots_.front().data() : to;
  const std::uint64_t room = flight.unpack ? sizeof(Slot) : one.bytes;
  const Outcome outcome = transport_->take(peer_of(one.peer), call_.route, {flight.landing, room});
  if (outcome.over && outcome.bytes == one.bytes && !outcome.fault) {
    if (flight.unpack && one.bytes != 0) std::memcpy(to, flight.landing, one.bytes);
    return true;
  }
  leave(one, outcome);
  return false;
}

// Hands over to the run's own steps, which go on at this action. No receive is under way, because
// each begins only when it is waited for.
void Run::stop_at(const FastStep& one) {
  position_ = one.step;
  waited_ = one.nth;
  for (std::uint32_t number = 0; number < position_; ++number)
    if (const Plan::Step& step = plan_->steps()[number]; step.kind == Kind::receive)
      flights_[step.message].ticket = Transport::kGone;
}

// Hands over to the run's own steps, behind this message if it is over. It first begins all
// receives of earlier steps that were not waited for.
void Run::leave(const FastStep& one, const Outcome& outcome) {
  stop_at(one);
  if (outcome.over) {
    ++waited_;
    completed(one.message, outcome);
  }
  const std::vector<bool> flies = under_way();
  for (std::uint32_t number = 0; number < position_; ++number) {
    const Plan::Step& step = plan_->steps()[number];
    if (step.kind == Kind::receive && flies[step.message]) receive(step);
  }
}

}  // namespace scela::collectives
