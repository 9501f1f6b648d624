#include "hca/core/model/engine.h"

#include <algorithm>

#include "hca/core/model/state.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

// The limits of one run() between two looks at the sockets: the number of turns of queue pairs, and
// about how many bytes they move.
constexpr int kTurns = 64;
constexpr std::uint64_t kMaxBytes = 1024 * 1024;

}  // namespace

Engine::State::State(Host& the_host, const Settings& the_settings)
    : host(the_host), settings(the_settings), random(the_settings.seed) {}

Engine::Engine(Host& host, const Settings& settings)
    : state_(std::make_unique<State>(host, settings)) {}
Engine::~Engine() = default;

void Engine::attach(ProcessId process, ProcessPage& page) {
  Attached& added = state_->processes[process];
  added.page = &page;
  added.doorbell_users.resize(kDoorbells);
  if (!state_->host.at_once(process)) state_->distant.insert(process);
}

void Engine::detach(ProcessId process) {
  state_->release_some(true);
  state_->detach(process);
  state_->distant.erase(process);
  state_->first_of.erase(process);
  state_->carried(process);
}

Answer Engine::ask(ProcessId process, const Ask& ask) {
  // Completions that have happened must be visible before the answer to this request.
  state_->release_some(true);
  return state_->ask(process, ask);
}

bool Engine::run(Moment now) {
  State& state = *state_;
  state.now = now;
  if (state.died) return false;
  state.bring_late();
  while (!state.timers.empty() && state.timers.begin()->first <= now) {
    const std::uint32_t number = state.timers.begin()->second;
    state.timers.erase(state.timers.begin());
    if (Qp* qp = state.qps.find(number)) state.schedule(*qp);
  }
  for (auto& [id, process] : state.processes) {
    const auto& users = process.doorbell_users;
    take_doorbells(*process.page, [&, owner = id](std::uint32_t doorbell) {
      if (doorbell == kOrdersDoorbell) state.carried(owner);
      for (const std::uint32_t number : users[doorbell])
        if (Qp* qp = state.qps.find(number)) state.schedule(*qp);
    });
  }
  state.let_in();
  state.moved_bytes = 0;
  for (int turn = 0;
       turn < kTurns && state.moved_bytes < kMaxBytes && !state.runnable.empty() && !state.rests();
       ++turn) {
    if (state.settings.seed != 0)
      std::swap(state.runnable.front(), state.runnable[state.random.below(state.runnable.size())]);
    const std::uint32_t number = state.runnable.front();
    state.runnable.pop_front();
    Qp* qp = state.qps.find(number);
    if (!qp) continue;
    qp->scheduled = false;
    if (state.run_queue(*qp)) state.schedule(*qp);
  }
  if (state.died) return false;
  state.release_some(false);
  return (!state.runnable.empty() && !state.rests()) || !state.held.empty();
}

void Engine::watch(TraceSink* trace_sink) {
  state_->trace_sink = trace_sink;
}

bool Engine::wanted() const {
  for (const auto& [id, process] : state_->processes)
    if (has_rung(*process.page)) return true;
  return false;
}

std::optional<Moment> Engine::deadline() const {
  const State& state = *state_;
  if (state.died) return std::nullopt;
  std::optional<Moment> next;
  const auto no_later_than = [&](Moment moment) { next = std::min(next.value_or(moment), moment); };
  if (!state.timers.empty()) no_later_than(state.timers.begin()->first);
  if (!state.late.empty()) no_later_than(state.late.begin()->first);
  if (!state.runnable.empty() && state.rests()) no_later_than(state.rests_until);
  return next;
}

bool Engine::has_died() const {
  return state_->died;
}

bool Engine::receive(std::uint32_t node, std::span<const std::byte> frame, Moment now) {
  state_->now = now;
  return state_->receive(node, frame);
}

void Engine::writable(std::uint32_t node) {
  const auto waiting = std::move(state_->blocked[node]);
  state_->blocked.erase(node);
  const auto schedule = [&](auto from, auto to) {
    for (; from != to; ++from)
      if (Qp* qp = state_->qps.find(*from)) state_->schedule(*qp);
  };
  // Round robin: otherwise the first queue pairs would fill the connection each time.
  const auto next = waiting.upper_bound(state_->sent_last[node]);
  schedule(next, waiting.end());
  schedule(waiting.begin(), next);
}

void Engine::lost(std::uint32_t node, Moment now) {
  state_->now = now;
  state_->lost(node);
}

}  // namespace scela::hca
