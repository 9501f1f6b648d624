#include "hca/core/model/engine.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "hca/core/engine_state.h"
#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/port_address.h"

namespace scela::hca {
namespace {

// The limits of one run() between two looks at the sockets: the number of turns of queue pairs, and
// about how many bytes they move.
constexpr int kTurns = 64;
constexpr std::uint64_t kMaxBytes = 1024 * 1024;

}  // namespace

Engine::State::State(Host& host, const Settings& settings) : host_(host), settings_(settings) {}

void Engine::State::attach(ProcessId process, ProcessPage& page) {
  objects_.attach(process, page);
  memory_.attach(process);
}

void Engine::State::detach(ProcessId process) {
  completions_.release_some(true);
  control_.detach(process);
  memory_.detach(process);
  steps_.detach(process);
}

Answer Engine::State::ask(ProcessId process, const Ask& ask) {
  // Completions that have happened must be visible before the answer to this request.
  completions_.release_some(true);
  return control_.execute(process, ask);
}

inline void Engine::State::poll_doorbells() {
  for (const auto& [id, process] : objects_.processes()) {
    const auto& users = process.doorbell_users;
    take_doorbells(*process.page, [&, owner = id](std::uint32_t doorbell) {
      if (doorbell == kOrdersDoorbell) steps_.schedule_waiting(owner);
      scheduler_.schedule_all(users[doorbell]);
    });
  }
}

inline void Engine::State::run_queue_pairs() {
  scheduler_.reset_moved_bytes();
  for (int turn = 0;
       turn < kTurns && scheduler_.moved_bytes() < kMaxBytes && scheduler_.has_next() && !rests();
       ++turn) {
    Qp* const qp = scheduler_.next();
    if (qp && runner_.run(*qp)) scheduler_.schedule(*qp);
  }
}

bool Engine::State::run(Moment now) {
  scheduler_.set_time(now);
  if (has_died()) return false;
  deliver_late();
  scheduler_.run_timers();
  poll_doorbells();
  kept_.schedule_waiting();
  run_queue_pairs();
  if (has_died()) return false;
  completions_.release_some(false);
  return (scheduler_.has_next() && !rests()) || completions_.has_held();
}

bool Engine::State::wanted() const {
  return std::ranges::any_of(objects_.processes(),
                             [](const auto& process) { return has_rung(*process.second.page); });
}

std::optional<Moment> Engine::State::deadline() const {
  if (has_died()) return std::nullopt;
  std::optional<Moment> next;
  const auto no_later_than = [&](std::optional<Moment> moment) {
    if (moment) next = std::min(next.value_or(*moment), *moment);
  };
  no_later_than(scheduler_.next_timer());
  no_later_than(late_.deadline());
  if (scheduler_.has_next() && rests()) no_later_than(faults_.rests_until());
  return next;
}

// If a connection is full then, its datagram is late once more.
void Engine::State::deliver_late() {
  while (late_.has_due(scheduler_.now())) {
    LateFrames::Frame frame = late_.next_due();
    if (frame.node == 0)
      receive_frame(0, frame.bytes);
    else if (frames_.is_ready(frame.node))
      frames_.send(frame.node, frame.bytes);
    else
      late_.add(scheduler_.now() + LateFrames::kMaxDelay, std::move(frame));
  }
}

bool Engine::State::receive(std::uint32_t node, std::span<const std::byte> frame, Moment now) {
  scheduler_.set_time(now);
  return receive_frame(node, frame);
}

bool Engine::State::receive_frame(std::uint32_t node, std::span<const std::byte> frame) {
  const auto header = header_of(frame);
  if (!header) return false;
  const bool to_group = is_group(header->target_gid, header->is_global != 0);
  if (header->kind == FrameKind::request && to_group && header->target_qpn == 0) {
    // No engine sends a datagram that long, and it would go to many members.
    if (header->total > limit::kMtu) return false;
    receive_for_group(node, *header, frame);
    return true;
  }
  if (header->kind == FrameKind::request) {
    remote_responder_.receive(node, *header, frame);
    return true;
  }
  Qp* qp = objects_.find<Qp>(header->target_qpn);
  return !qp || qp->node != node || remote_requester_.receive(*qp, *header, frame);
}

// Each member gets the frame on its own, so that one that waits for memory holds up no other.
void Engine::State::receive_for_group(std::uint32_t node, FrameHeader header,
                                      std::span<const std::byte> frame) {
  std::vector<std::byte> copy(frame.begin(), frame.end());
  for (const std::uint32_t member : groups_.members(header.target_gid)) {
    header.target_qpn = member;
    std::memcpy(copy.data(), &header, sizeof header);
    receive_frame(node, copy);
  }
}

void Engine::State::lost(std::uint32_t node, Moment now) {
  scheduler_.set_time(now);
  objects_.each<Qp>([&](Qp& qp) {
    if (qp.node != node) return;
    remote_requester_.drop_answers(qp);
    inbox_.drop_waiting(qp);
    remote_requester_.repeat_unanswered(qp);
  });
  frames_.lost(node);
}

Engine::Engine(Host& host, const Settings& settings)
    : state_(std::make_unique<State>(host, settings)) {}
Engine::~Engine() = default;

void Engine::attach(ProcessId process, ProcessPage& page) {
  state_->attach(process, page);
}

void Engine::detach(ProcessId process) {
  state_->detach(process);
}

Answer Engine::ask(ProcessId process, const Ask& ask) {
  return state_->ask(process, ask);
}

bool Engine::run(Moment now) {
  return state_->run(now);
}

bool Engine::wanted() const {
  return state_->wanted();
}

std::optional<Moment> Engine::deadline() const {
  return state_->deadline();
}

bool Engine::has_died() const {
  return state_->has_died();
}

NodeCounters Engine::counters() const {
  return state_->counters();
}

void Engine::watch(TraceSink* trace_sink) {
  state_->watch(trace_sink);
}

bool Engine::receive(std::uint32_t node, std::span<const std::byte> frame, Moment now) {
  return state_->receive(node, frame, now);
}

void Engine::writable(std::uint32_t node) {
  state_->writable(node);
}

void Engine::lost(std::uint32_t node, Moment now) {
  state_->lost(node, now);
}

}  // namespace scela::hca
