// The engine executor: chooses the operations that the adapter executes, and waits for them. It
// passes the others to `polled`. Each communicator has an OffloadGroup.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/offload/factory.h"
#include "collectives/offload/offload_group.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

using Clock = std::chrono::steady_clock;
// The time between two looks for faults by a caller that only tests. A waiting caller sleeps at
// most as long.
constexpr std::chrono::milliseconds kLook(2);
// The time between two looks for a run that has stalled.
constexpr std::chrono::milliseconds kBetweenAsks(250);
// The time that a waiting caller sleeps if no event can wake it.
constexpr std::chrono::microseconds kNap(50);
// The looks of a waiting caller before it sleeps. It makes the first ones at once, and yields the
// processor before each of the others. Other threads may compute meanwhile, and being woken costs
// more.
constexpr int kSpins = 100;
constexpr int kSpinsAtOnce = 10;

class EngineExecutor final : public Executor, private RunContexts {
 public:
  EngineExecutor(std::unique_ptr<Adapter> adapter, std::unique_ptr<Executor> polled,
                 std::unique_ptr<Transport> transport)
      : adapter_(std::move(adapter)),
        polled_(std::move(polled)),
        transport_(std::move(transport)),
        parting_(*transport_) {}

  std::string_view name() const override { return name_of(ExecutorKind::engine); }

  // Returns true if the adapter can execute this call. All ranks of an operation get the same
  // answer.
  static bool can_run(const Call& call) {
    return call.prelude == nullptr &&
           (call.reduction.combine == nullptr || call.reduction.calculation.has_value());
  }

  void start(Run& run) override {
    if (run.call().refused && run.call().prelude == nullptr) return refuse(run);
    if (transport_->is_closed()) return end_closed(run);
    if (!can_run(run.call())) return polled_->start(run);
    auto& group = groups_[run.call().route.context];
    if (!group)
      group = std::make_unique<OffloadGroup>(*adapter_, *transport_, parting_,
                                             run.call().route.context);
    polled_->contexts().count(run.context(), run.number(), run.peers(), run.kind());
    // A context that is given up must not receive messages that other ranks sent before they knew.
    if (const AbortedContext* const what = polled_->contexts().given_up(run.context()))
      group->give_up(fault_of(*what, what->rank));
    group->start(run);
    tell_all_of(*group);
  }

  bool test(Run& run) override {
    if (run.is_over()) return true;
    if (!has(run)) return polled_->test(run);
    advance();
    return run.is_over();
  }

  std::size_t wait_any(std::span<Run* const> runs, Timeout limit) override {
    if (!is_any(runs)) return runs.size();
    const bool others = std::ranges::any_of(
        runs, [&](const Run* run) { return run != nullptr && !run->is_over() && !has(*run); });
    if (others && !is_busy()) return polled_->wait_any(runs, limit);
    const Deadline deadline(limit);
    for (int spins = 0;; ++spins) {
      const std::size_t found = first_over(runs);
      if (found != runs.size()) return found;
      if (others) polled_->progress();
      if (advance()) continue;
      if (deadline.over()) return runs.size();
      if (spins < kSpinsAtOnce) continue;
      if (spins < kSpins) {
        ::sched_yield();
        continue;
      }
      if (sleep(deadline.at_most(others ? std::chrono::microseconds(50)
                                        : std::chrono::nanoseconds(kLook))))
        spins = 0;
    }
  }

  void progress() override {
    polled_->progress();
    advance();
  }

  void cancel(Run& run, Fault why) override {
    if (run.is_over()) return;
    for (const auto& [context, group] : groups_) {
      if (!group->has(run)) continue;
      group->cancel(run, std::move(why));
      group->advance();
      return;
    }
    polled_->cancel(run, std::move(why));
  }

  RunContexts& contexts() override { return *this; }

  std::string describe() const override {
    return cat("run by the engine of ", adapter_->device.capability.describe());
  }

 private:
  void give_up(const AbortedContext& what, std::span<const int> ranks) override {
    polled_->contexts().give_up(what, ranks);
    advance();
  }

  const AbortedContext* given_up(ContextId context) const override {
    return polled_->contexts().given_up(context);
  }
  void leave(const AbortedContext& what, std::span<const int> ranks) override {
    polled_->contexts().leave(what, ranks);
  }
  void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
             std::uint16_t kind) override {
    polled_->contexts().count(context, number, ranks, kind);
  }

  void forget(ContextId context) override {
    polled_->contexts().forget(context);
    const auto at = groups_.find(context);
    if (at == groups_.end()) return;
    at->second->is_forgotten = true;
    if (at->second->empty()) groups_.erase(at);
  }

  std::size_t queue_pairs(ContextId context) const override {
    const auto at = groups_.find(context);
    return at == groups_.end() ? 0 : at->second->queue_pairs();
  }

  PostedRuns posted(ContextId context) const override {
    const auto at = groups_.find(context);
    return at == groups_.end() ? PostedRuns() : at->second->posted();
  }

  // Refuses a call. An engine sends no notes, so the context is given up.
  void refuse(Run& run) {
    const Call& call = run.call();
    const Fault why = *call.refused;
    run.begin_elsewhere();
    run.end_elsewhere(&why);
    AbortedContext what;
    what.context = call.route.context;
    what.rank = call.peers[static_cast<std::size_t>(call.rank)];
    what.refusal = why.refusal;
    give_up(what, call.peers);
  }

  // Ends a run because the channel is closed. The queues would work without the channel, but this
  // rank would not hear of the others any more.
  static void end_closed(Run& run) {
    const Fault why{FaultCode::other, run.call().rank,
                    cat("rank ", run.call().rank,
                        ": the channel was closed: close it after its communicators are used")};
    run.begin_elsewhere();
    run.end_elsewhere(&why);
  }

  // Notes go only to the ranks with which the lists of this rank speak. Another operation may speak
  // with other ranks, so all ranks are told.
  void tell_all_of(OffloadGroup& group) {
    if (const auto what = group.word_to_all()) polled_->contexts().give_up(*what, group.ranks());
  }

  // Ranks that have called different operations may each wait for another rank. The next rank is
  // told what the first run is, behind which all others wait, and compares it with its own.
  void ask_for_stalled(OffloadGroup& group) {
    Run* const run = group.first();
    const auto word = run != nullptr ? run->word_if_stalled() : std::nullopt;
    if (word) polled_->contexts().leave(*word, run->peers());
  }

  bool has(const Run& run) const {
    return std::ranges::any_of(groups_, [&](const auto& one) { return one.second->has(run); });
  }
  bool is_busy() const {
    return std::ranges::any_of(groups_, [](const auto& one) { return !one.second->empty(); });
  }

  // Advances all groups, and looks for faults every kLook. Returns true if a run has ended.
  bool advance() {
    bool ended = false;
    const auto now = Clock::now();
    const bool looks = now >= next_look_;
    const bool asks = looks && now >= next_ask_;
    if (asks) next_ask_ = now + kBetweenAsks;
    if (looks) {
      next_look_ = now + kLook;
      polled_->progress();
    }
    for (auto at = groups_.begin(); at != groups_.end();) {
      OffloadGroup& group = *at->second;
      // This comes first, because a run that is over has ended well, whatever has failed since.
      ended = group.advance() || ended;
      if (looks) {
        if (const AbortedContext* const what = polled_->contexts().given_up(at->first))
          group.give_up(fault_of(*what, what->rank));
        group.look();
      }
      if (asks) ask_for_stalled(group);
      tell_all_of(group);
      at = group.is_forgotten && group.empty() ? groups_.erase(at) : std::next(at);
    }
    if (looks) parting_.sweep();
    return ended;
  }

  // Sleeps until an event comes, or the limit is over. Returns false if no event came.
  bool sleep(std::chrono::nanoseconds limit) {
    std::vector<Transport::Ticket> tickets;
    bool connects = false;
    for (const auto& [context, group] : groups_)
      connects = group->connects(tickets) || connects;
    next_look_ = {};
    if (connects) return transport_->wait_any(tickets, limit);
    if (!adapter_->has_events()) {
      // A thread of this process executes the tasks, and raises no events.
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(limit, kNap));
      return false;
    }
    for (const auto& [context, group] : groups_)
      group->arm();
    if (advance()) return true;
    pollfd events{adapter_->events->fd, POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit);
    if (::poll(&events, 1, static_cast<int>(milliseconds.count())) <= 0) {
      next_look_ = {};
      return false;
    }
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    const channel::verbs::Symbols& symbols = *adapter_->device.symbols;
    if (symbols.ibv_get_cq_event(adapter_->events.get(), &queue, &context) == 0)
      symbols.ibv_ack_cq_events(queue, 1);
    return true;
  }

  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<Executor> polled_;
  std::unique_ptr<Transport> transport_;
  Parting parting_;
  std::map<ContextId, std::unique_ptr<OffloadGroup>> groups_;  // by context
  Clock::time_point next_look_, next_ask_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_engine(std::unique_ptr<Executor> polled,
                                              std::unique_ptr<Transport> transport) {
  auto adapter = Adapter::open();
  if (!adapter) return fail(std::move(adapter.error()));
  return make_engine_on(std::move(*adapter), std::move(polled), std::move(transport));
}

std::unique_ptr<Executor> make_engine_on(std::unique_ptr<Adapter> adapter,
                                         std::unique_ptr<Executor> polled,
                                         std::unique_ptr<Transport> transport) {
  return std::make_unique<EngineExecutor>(std::move(adapter), std::move(polled),
                                          std::move(transport));
}

}  // namespace scela::collectives
