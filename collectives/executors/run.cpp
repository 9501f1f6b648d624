#include "collectives/executors/run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// A note: sent instead of a message that its receiver expects, because its sender has failed.
struct Note {
  std::uint64_t magic = 0;
  std::int32_t rank = -1;  // the rank at fault
  std::uint8_t code = 0;
  std::uint8_t refusal = 0;
  std::uint8_t unused[10] = {};
};
constexpr std::uint64_t kMagic = 0x5ce1'a000'dead'f417;

constexpr bool is_code(std::uint8_t code) {
  return code <= static_cast<std::uint8_t>(FaultCode::other);
}
constexpr std::uint32_t kNoTask = std::numeric_limits<std::uint32_t>::max();

Error refused(std::string why) {
  return {ErrorKind::usage, "start a collective operation", "", std::move(why), ""};
}

}  // namespace

std::byte* Memory::reserve(std::uint64_t bytes) {
  const std::uint64_t lines = bytes / sizeof(Line) + (bytes % sizeof(Line) != 0 ? 1 : 0);
  if (lines > count_) {
    lines_.reset();
    count_ = 0;
    lines_ = std::make_unique_for_overwrite<Line[]>(lines);
    count_ = lines;
  }
  return data();
}

std::string RunError::text() const {
  return fault.words;
}

Run::Run() {
  static_assert(sizeof(Note) == kNote);
}

Run::~Run() {
  if (under_way_) cancel({FaultCode::cancelled, -1, "the operation was given up"});
}

// ---- binding ----

Result<void> Run::bind(Call call) {
  if (!is_over()) return fail(refused("it is under way: wait for it first"));
  const bool only_prelude = call.prelude != nullptr && call.refused && !call.plan;
  if (!only_prelude && !fits_as_before(call))
    if (auto fitting = fits(call); !fitting) return fitting;
  try {
    reserve(std::move(call));
  } catch (const std::bad_alloc&) {
    return fail(
        {ErrorKind::io, "start a collective operation", "",
         cat("there is no memory for its scratch of ", layout_.of(Space::scratch).end(), " bytes"),
         "an algorithm with more segments needs less"});
  }
  return {};
}

// Returns true if a call with this plan and layout has fitted, and this call has all that it had.
bool Run::fits_as_before(const Call& call) const {
  if (fitted_ == nullptr || call.plan.get() != fitted_ || call.layout_number == 0 ||
      call.layout_number != layout_number_ || call.refused)
    return false;
  const auto& blocks = fitted_->list().blocks;
  return (blocks[0] == 0 || call.input != nullptr) && (blocks[1] == 0 || call.output != nullptr) &&
         (call.reduction.combine != nullptr || !fitted_->reduces()) &&
         (call.peers.empty() || call.peers.size() >= static_cast<std::size_t>(fitted_->ranks()));
}

Result<void> Run::fits(const Call& call) {
  if (!call.plan || call.layout == nullptr) return fail(refused("it has no plan or no layout"));
  const TaskList& list = call.plan->list();
  const void* const addresses[] = {call.input, call.output, call.scratch};
  for (const Space space : {Space::input, Space::output, Space::scratch}) {
    const auto index = static_cast<std::size_t>(space);
    const BlockSizes& sizes = call.layout->of(space);
    if (sizes.count() < list.blocks[index])
      return fail(refused(cat("the ", name_of(space), " has ", sizes.count(), " blocks, and ",
                              list.blocks[index], " are needed")));
    if (!call.refused && space != Space::scratch && list.blocks[index] != 0 &&
        addresses[index] == nullptr && sizes.end() != 0)
      return fail(refused(
          cat("the ", name_of(space), " is null, and should have ", sizes.end(), " bytes")));
  }
  if (!call.refused && call.plan->reduces() && call.reduction.combine == nullptr)
    return fail(refused("it reduces, and no reduction was given"));
  if (!call.peers.empty() && call.peers.size() < static_cast<std::size_t>(call.plan->ranks()))
    return fail(refused(cat("it speaks with rank ", call.plan->ranks() - 1, ", and there are ",
                            call.peers.size(), " ranks")));
  return {};
}

void Run::reserve(Call&& call) {
  const bool knows_layout = call.layout_number != 0 && call.layout_number == layout_number_;
  call_ = std::move(call);
  if (call_.plan) reserve_call(knows_layout);
  plan_ = call_.plan.get();
  prelude_ = nullptr;
  if (call_.prelude == nullptr) return;
  std::swap(layout_, next_layout_);
  layout_number_ = 0;
  std::ranges::copy(spaces_, next_spaces_);
  reserve_prelude(*call_.prelude);
}

void Run::reserve_prelude(const Prelude& prelude) {
  prelude_ = &prelude;
  layout_ = *prelude.layout;
  plan_ = prelude.plan.get();
  spaces_[0] = nullptr;
  spaces_[1] = prelude.records;
  spaces_[2] = prelude_scratch_.reserve(layout_.of(Space::scratch).end());
  reserve_messages(*plan_);
}

void Run::reserve_messages(const Plan& plan) {
  if (flights_.size() < plan.messages()) flights_.resize(plan.messages());
  if (slots_.size() < plan.receives()) slots_.resize(plan.receives());
}

void Run::reserve_call(bool knows_layout) {
  const Call& call = call_;
  const Plan& plan = *call.plan;
  const bool is_known = knows_layout && fitted_ == &plan;
  if (!is_known) {
    fitted_ = nullptr;
    short_.clear();
  }
  if (!knows_layout) {
    layout_number_ = 0;
    layout_ = *call.layout;  // vectors keep their memory
    layout_number_ = call.layout_number;
  }
  reserve_messages(plan);
  std::byte* scratch = call.scratch;
  if (scratch == nullptr && plan.list().blocks[2] != 0 && !call.refused)
    scratch = scratch_.reserve(layout_.of(Space::scratch).end());
  // No run writes its input: lists that would write it are not proven.
  spaces_[0] = const_cast<std::byte*>(call.input);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  spaces_[1] = call.output;
  spaces_[2] = scratch;
  staged_ = 0;
  if (!is_known) compile_fast_path(plan);
  if (short_.empty() && !call.refused) reserve_staging(plan);
  fitted_ = &plan;  // only now is all of it reserved
}

void Run::reserve_staging(const Plan& plan) {
  const bool all_runs = layout_.of(Space::input).is_packed() &&
                        layout_.of(Space::output).is_packed() &&
                        layout_.of(Space::scratch).is_packed();
  if (all_runs) return;
  std::uint64_t needed = 0;
  for (const std::uint32_t number : plan.begun_by()) {
    const Plan::Step& step = plan.steps()[number];
    const Blocks& blocks = step.kind == Kind::send ? step.from : step.to;
    if (!is_run(blocks)) needed += bytes_of(blocks);
  }
  staging_.reserve(needed);
}

void Run::begin(Transport& transport) {
  transport_ = &transport;
  position_ = 0;
  waited_ = 0;
  slots_taken_ = 0;
  error_.reset();
  abandoned_ = false;
  signals_.store(0, std::memory_order_relaxed);
  under_way_ = true;
  looks_ = 0;
  claim();
  if (call_.refused && call_.prelude == nullptr) give_up(kNoTask, *call_.refused);
}

void Run::begin_elsewhere() {
  error_.reset();
  signals_.store(0, std::memory_order_relaxed);
  claim();
}

void Run::end_elsewhere(const Fault* fault) {
  if (fault != nullptr) give_up(UINT32_MAX, *fault);
  finish();
}

// ---- getting on ----

bool Run::advance(Ends* ends) {
  const bool goes_on = get_on();
  if (ends != nullptr && error_ && is_lasting()) tell(*ends);
  if (!goes_on) finish();
  return goes_on;
}

bool Run::get_on() {
  if (abandoned_) return !drained();
  do {
    const std::vector<Plan::Step>& steps = plan_->steps();
    while (position_ < steps.size()) {
      if (!step(steps[position_])) return true;
      ++position_;
    }
  } while (end_prelude());
  return false;
}

// Ends the prelude, and returns true if there is more to run: the call itself, or another prelude.
// All ranks judge alike, so that none begins the call in vain. A rank that could not hear all
// others, since one has died, goes on to tell those that could.
bool Run::end_prelude() {
  if (prelude_ == nullptr) return false;
  if (!error_) {
    if (std::optional<Fault> wrong = prelude_->judge()) {
      give_up(kNoTask, std::move(*wrong));
      return false;
    }
    if (const Prelude* const next = prelude_->next ? prelude_->next() : nullptr) {
      reserve_prelude(*next);
      position_ = 0;
      slots_taken_ = 0;
      return true;
    }
  }
  if (!call_.plan) return false;
  prelude_ = nullptr;
  plan_ = call_.plan.get();
  std::swap(layout_, next_layout_);
  std::ranges::copy(next_spaces_, spaces_);
  position_ = 0;
  slots_taken_ = 0;
  if (call_.refused) give_up(kNoTask, *call_.refused);
  return true;
}

// Returns true if other operations of the context fail for the same reason. After a message of an
// unexpected length, the lists of the ranks may not meet any more. That does not apply if calls are
// compared before anything else is sent, or if a rank goes through its list with notes.
bool Run::is_lasting() const {
  const Fault& fault = error_->fault;
  return fault.code == FaultCode::peer_ended ||
         (fault.code == FaultCode::mismatch && fault.refusal == Refusal::none &&
          error_->task != kNoTask);
}

void Run::tell(Ends& ends) const {
  const int place = error_->fault.rank;
  const std::size_t ranks = call_.peers.empty() ? ~std::size_t{0} : call_.peers.size();
  if (place < 0 || place == call_.rank || static_cast<std::size_t>(place) >= ranks) return;
  ends.rank = peer_of(place);
  ends.refusal = error_->fault.code == FaultCode::peer_ended ? Refusal::none : Refusal::other;
  ends.peers.assign(call_.peers.begin(), call_.peers.end());
  for (int rank = 0; call_.peers.empty() && rank < plan_->ranks(); ++rank)
    ends.peers.push_back(rank);
}

bool Run::step(const Plan::Step& step) {
  switch (step.kind) {
    case Kind::send:
      send(step);
      return true;
    case Kind::receive:
      receive(step);
      return true;
    case Kind::wait_sent:
    case Kind::wait_received:
      return wait(step);
    case Kind::copy:
      if (!error_) copy(step);
      return true;
    case Kind::reduce:
      if (!error_) reduce(step);
      return true;
    case Kind::signal:
      if (!error_) signals_.fetch_add(1, std::memory_order_release);
      return true;
    case Kind::enable:
      return true;  // plans have none
  }
  return true;
}

void Run::send(const Plan::Step& step) {
  Flight& flight = flights_[step.message];
  flight.bytes = bytes_of(step.from);
  const std::byte* bytes = nullptr;
  std::uint64_t length = flight.bytes;
  if (error_) {
    bytes = note_.data();
    length = flight.bytes == kNote ? kNote + 1 : kNote;
  } else if (is_run(step.from)) {
    bytes = at(step.from);
  } else {
    std::byte* const packed = staging(flight.bytes);
    pack(step.from, packed);
    bytes = packed;
  }
  flight.ticket = transport_->send(peer_of(step.peer), call_.route, {bytes, length});
}

void Run::receive(const Plan::Step& step) {
  Flight& flight = flights_[step.message];
  flight.bytes = bytes_of(step.to);
  std::uint64_t room = flight.bytes;
  flight.unpack = true;
  if (error_ || flight.bytes <= kNote) {
    Slot& slot = slots_[slots_taken_++];
    flight.landing = slot.data();
    room = slot.size();
  } else if (is_run(step.to)) {
    flight.landing = at(step.to);
    flight.unpack = false;
  } else {
    flight.landing = staging(flight.bytes);
  }
  flight.ticket = transport_->receive(peer_of(step.peer), call_.route, {flight.landing, room});
}

bool Run::wait(const Plan::Step& step) {
  for (; waited_ < step.count; ++waited_) {
    const std::uint32_t message = plan_->waited()[step.message + waited_];
    const Outcome outcome = transport_->test(flights_[message].ticket);
    if (!outcome.over) {
      waits_for_ = flights_[message].ticket;
      return false;
    }
    completed(message, outcome);
  }
  waited_ = 0;
  return true;
}

void Run::completed(std::uint32_t message, const Outcome& outcome) {
  if (error_) return;
  const Plan::Step& step = plan_->steps()[plan_->begun_by()[message]];
  if (outcome.fault) {
    // If a resource is exhausted, this rank is at fault itself.
    const bool is_own = outcome.fault->code == FaultCode::resources;
    give_up(step.task, {outcome.fault->code, is_own ? -1 : step.peer,
                        cat("rank ", step.peer, ": ", outcome.fault->words)});
    return;
  }
  if (step.kind == Kind::receive) received(step, flights_[message], outcome.bytes);
}

void Run::received(const Plan::Step& step, const Flight& flight, std::uint64_t bytes) {
  if (bytes == flight.bytes) {
    if (flight.unpack) unpack(flight.landing, step.to);
    return;
  }
  if (bytes == (flight.bytes == kNote ? kNote + 1 : kNote)) {
    Note note;
    std::memcpy(&note, flight.landing, sizeof note);
    if (note.magic == kMagic && is_code(note.code)) {
      const auto code = static_cast<FaultCode>(note.code);
      const auto refusal = static_cast<Refusal>(note.refusal);
      const std::string why =
          refusal == Refusal::none ? std::string(name_of(code)) : reason_of(refusal);
      give_up(step.task,
              {code, note.rank,
               cat("rank ", note.rank, ": ", why, " (rank ", step.peer, " says so)"), refusal});
      return;
    }
  }
  give_up(step.task, {FaultCode::mismatch, step.peer,
                      cat("rank ", step.peer, ": it sent ", bytes, " bytes where rank ", call_.rank,
                          " expects ", flight.bytes,
                          ": ranks must call operations in the same order, with equal sizes")});
}

void Run::give_up(std::uint32_t task, Fault fault) {
  if (error_) return;
  if (fault.rank < 0) fault.rank = call_.rank;
  if (task < plan_->list().tasks.size())
    fault.words = cat(fault.words, " [task ", task, " '", to_text(plan_->list().tasks[task]), "']");
  Note note;
  note.magic = kMagic;
  note.rank = fault.rank;
  note.code = static_cast<std::uint8_t>(fault.code);
  note.refusal = static_cast<std::uint8_t>(fault.refusal);
  std::memcpy(note_.data(), &note, sizeof note);
  error_ = RunError{std::move(fault), task};
}

void Run::finish() {
  under_way_ = false;
  plan_ = nullptr;
  call_.plan.reset();
  call_.refused.reset();
  over_.store(true, std::memory_order_release);  // the owner may reuse it now
}

// Returns by message whether it is under way.
std::vector<bool> Run::under_way() const {
  const Plan& plan = *plan_;
  std::vector<bool> flies(plan.messages(), false);
  for (std::uint32_t number = 0; number < position_; ++number) {
    const Plan::Step& step = plan.steps()[number];
    if (step.kind == Kind::send || step.kind == Kind::receive) flies[step.message] = true;
  }
  for (std::uint32_t number = 0; number <= position_ && number < plan.steps().size(); ++number) {
    const Plan::Step& step = plan.steps()[number];
    if (step.kind != Kind::wait_sent && step.kind != Kind::wait_received) continue;
    const std::uint32_t count = number == position_ ? waited_ : step.count;
    for (std::uint32_t i = 0; i < count; ++i)
      flies[plan.waited()[step.message + i]] = false;
  }
  return flies;
}

void Run::cancel(Fault why) {
  if (!under_way_) return;
  const Plan& plan = *plan_;
  if (abandoned_) {
    for (const std::uint32_t message : left_)
      transport_->cancel(flights_[message].ticket);
    return finish();
  }
  const std::vector<bool> flies = under_way();
  for (std::uint32_t message = 0; message < plan.messages(); ++message)
    if (flies[message] && flights_[message].ticket != Transport::kGone)
      transport_->cancel(flights_[message].ticket);
  give_up(position_ < plan.steps().size() ? plan.steps()[position_].task : kNoTask, std::move(why));
  finish();
}

void Run::abandon(Fault why) {
  if (!under_way_ || abandoned_) return;
  const Plan& plan = *plan_;
  const std::vector<bool> flies = under_way();
  left_.clear();
  for (std::uint32_t message = 0; message < plan.messages(); ++message) {
    if (!flies[message]) continue;
    left_.push_back(message);
    if (plan.steps()[plan.begun_by()[message]].kind == Kind::receive)
      transport_->withdraw(flights_[message].ticket);
  }
  give_up(position_ < plan.steps().size() ? plan.steps()[position_].task : kNoTask, std::move(why));
  abandoned_ = true;
  if (position_ == 0) return;
  for (std::uint32_t number = position_; number < plan.steps().size(); ++number) {
    const Plan::Step& step = plan.steps()[number];
    if (step.kind != Kind::send) continue;
    send(step);
    left_.push_back(step.message);
  }
}

bool Run::drained() {
  while (!left_.empty()) {
    const Transport::Ticket ticket = flights_[left_.back()].ticket;
    if (!transport_->test(ticket).over) {
      waits_for_ = ticket;
      return false;
    }
    left_.pop_back();
  }
  return true;
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

int Run::place_of(int rank) const {
  if (call_.peers.empty()) return rank < plan_->ranks() ? rank : -1;
  const auto found = std::ranges::find(call_.peers, rank);
  return found == call_.peers.end() ? -1 : static_cast<int>(found - call_.peers.begin());
}

}  // namespace scela::collectives
