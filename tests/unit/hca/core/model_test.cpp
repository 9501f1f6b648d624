// Runs random sequences of verbs (model_scene.h, model_steps.h) on the interpreter and on a model
// of it (model.h). After each step completions, memory, events and states are compared.
//
// SCELA_MODEL_SEQUENCES=1000000 in the environment runs that many sequences, and
// SCELA_MODEL_FIRST=N begins at that seed. SCELA_MODEL_SEED=N runs that seed only, and says what it
// does (bench/verbs_model.py).
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/hca/core/model_steps.h"

namespace scela::hca::test::model_test {
namespace {

using namespace model;

constexpr Moment kSoon = 1'000'000, kLater = 20'000'000;  // finite retries; RNR for ever

// Runs the sequence: it advances the time and compares the results.
class Sequence : Steps {
 public:
  using Steps::Steps;

  // Returns the difference, or nothing if there is none.
  std::optional<std::string> run() {
    say() << (remote_ ? "two nodes" : "one node") << (managed_ ? ", managed" : "");
    const std::uint64_t processes = random_.between(2, 4);
    for (std::uint64_t i = 0; i < processes; ++i)
      add_process();
    const std::uint64_t pairs = random_.between(1, 4);
    for (std::uint64_t i = 0; i < pairs; ++i)
      add_pair();
    const std::uint64_t steps = random_.between(10, 40);
    for (std::uint64_t i = 0; i < steps && wrong_.empty(); ++i) {
      managed_ ? managed_step() : step();
      compare();
    }
    while (!programs_.empty() && wrong_.empty()) {
      leave(programs_.begin()->first);
      compare();
    }
    if (left_.machine.allocated + right_.machine.allocated != 0) differs() << "memory is left";
    if (left_.machine.orders_given() + right_.machine.orders_given() != 0)
      differs() << "orders are left";
    return wrong_.empty() ? std::nullopt : std::optional(wrong_);
  }

 private:
  void carry() {
    for (bool more = true; more;) {
      left_.run();
      right_.run();
      if (distant_ && random_.chance(1, 2)) {
        Machine& one = (random_.chance(1, 2) ? left_ : right_).machine;
        if (one.carry_out_some()) continue;
      }
      const bool first = random_.chance(1, 2);
      more = first ? bring(left_, 1, right_) || bring(right_, 2, left_)
                   : bring(right_, 2, left_) || bring(left_, 1, right_);
      if (!more) more = left_.machine.carry_out_some() || right_.machine.carry_out_some();
    }
  }
  bool bring(Fabric& from, std::uint32_t number, Fabric& to) {
    if (from.machine.frames.empty()) return false;
    const Machine::Frame frame = std::move(from.machine.frames.front());
    from.machine.frames.pop_front();
    if (!to.engine.receive(number, frame.bytes, to.now)) differs() << "a frame is refused";
    from.engine.writable(number == 1 ? 2 : 1);
    return true;
  }
  void advance_to(Moment end) {
    for (;;) {
      const Moment next = std::min(left_.engine.deadline().value_or(~0ULL),
                                   right_.engine.deadline().value_or(~0ULL));
      if (next > end) return;
      left_.now = right_.now = std::max(left_.now, next);
      carry();
    }
  }
  // Returns true if all completions that the model has have come. A requester that tries for ever
  // tries only now and then. Only then does it find a receive request that a chain of tasks has
  // released, or find that its peer is gone and fail. That failure may be what makes a queue run
  // over.
  bool all_came() {
    return std::all_of(world_.cqs.begin(), world_.cqs.end(), [&](const auto& entry) {
      const model::Cq& cq = entry.second;
      const CompletionRing& ring = program(cq.process).completions(cqs_.at(entry.first));
      return cq.overrun ? ring.broken != 0 : ring.produced >= cq.produced;
    });
  }
  void settle() {
    carry();
    advance_to(left_.now + kSoon);
    for (int attempts = 0; attempts == 0 || (attempts < 50 && !all_came()); ++attempts) {
      left_.now = right_.now = left_.now + kLater;
      carry();
      advance_to(left_.now + kSoon);
    }
  }
  struct Key {
    std::uint32_t owner = 0;
    bool is_shared = false, receives = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Returns the queue that a completion belongs to. Verbs promise an order within each queue, and
  // none between two. Shared receive queues and queue pairs are numbered separately, so two may
  // have the same number. The queue pair that received says which of them it is.
  Key queue_of(const model::Cq& cq, const Completion& completion) const {
    const bool receives =
        (completion.opcode & done::kReceive) != 0 && completion.opcode < done::kWait;
    const int node = world_.node_of.at(cq.process);
    const bool is_shared = std::ranges::any_of(world_.qps, [&](const auto& entry) {
      const model::Qp& qp = entry.second;
      return qp.number == completion.qpn && world_.node_of.at(qp.process) == node &&
             (qp.srq >= 0 || qp.type == QpType::xrc_recv);
    });
    return {completion.owner, receives && is_shared, receives};
  }
  std::map<Key, std::vector<Completion>> by_queue(const model::Cq& cq,
                                                  const std::vector<Completion>& all) const {
    std::map<Key, std::vector<Completion>> result;
    for (const Completion& completion : all)
      result[queue_of(cq, completion)].push_back(completion);
    return result;
  }
  static bool same(const Completion& one, const Completion& other) {
    const auto always = [](const Completion& c) {
      return std::tuple(c.wr_id, c.queue_index, c.status, c.qpn, c.owner);
    };
    if (always(one) != always(other)) return false;
    if (one.status != Status::success) return true;
    const auto of_success = [](const Completion& c) {
      const bool received = c.opcode >= done::kReceive && c.opcode < done::kWait;
      return std::tuple(c.opcode, c.flags, c.immediate, c.source_qpn, received ? c.bytes : 0);
    };
    return of_success(one) == of_success(other);
  }
  void compare() {
    world_.run();
    settle();
    for (auto& [number, cq] : world_.cqs) {
      const auto got = program(cq.process).poll(cqs_.at(number));
      std::vector<Completion> waiting;
      waiting.swap(cq.waiting);
      if (loud_)
        for (const Completion& c : got)
          std::cerr << "\n   cq " << number << " id " << c.wr_id << " status "
                    << static_cast<int>(c.status) << " of " << c.owner;
      // The entries that were too many are a matter of chance.
      if (cq.overrun) {
        if (program(cq.process).completions(cqs_.at(number)).broken == 0)
          differs() << "a queue did not run over";
        continue;
      }
      const auto have = by_queue(cq, got), want = by_queue(cq, waiting);
      if (!std::equal(
              have.begin(), have.end(), want.begin(), want.end(), [](const auto& x, const auto& y) {
                return x.first == y.first && std::equal(x.second.begin(), x.second.end(),
                                                        y.second.begin(), y.second.end(), same);
              })) {
        auto& out = differs() << "completions; wanted";
        for (const Completion& c : waiting)
          out << "\n   cq " << number << " id " << c.wr_id << " status "
              << static_cast<int>(c.status) << " of " << c.owner << " opcode " << c.opcode
              << " bytes " << c.bytes;
      }
    }
    forget_spoilt();
    for (const auto& [process, memory] : world_.memory) {
      const auto& has = buffers_.at(process);
      if (std::memcmp(has.data(), memory.bytes.data(), has.size()) == 0) continue;
      const auto first = std::mismatch(has.begin(), has.end(), memory.bytes.begin()).first;
      const auto at = static_cast<std::uint64_t>(first - has.begin());
      differs() << "memory of " << process << " in zone " << at / kSlotBytes / kSlots << " of slot "
                << at / kSlotBytes % kSlots << " at " << at % kSlotBytes;
    }
    for (const auto& [number, qp] : world_.qps) {
      const int holder = qp.holders.empty() ? qp.process : qp.holders.front().first;
      const QpState state = program(holder).state(qps_.at(number));
      if (state != qp.state)
        differs() << "state of " << number << " is " << static_cast<int>(state) << " for "
                  << static_cast<int>(qp.state);
    }
    compare_events();
  }
  // A strict adapter spoils the target memory of reads that fail or have not ended.
  void forget_spoilt() {
    for (const auto& [number, slot] : slot_)
      for (auto& [process, memory] : world_.memory)
        if (const auto qp = world_.qps.find(number);
            strict_ && (qp == world_.qps.end() || qp->second.state != QpState::rts ||
                        !qp->second.sends.empty()))
          std::copy_n(buffers_.at(process).begin() + offset_of(landing, slot), kSlotBytes,
                      memory.bytes.begin() + offset_of(landing, slot));
  }
  void compare_events() {
    std::vector<model::Event> got, want;
    for (Fabric* fabric : {&left_, &right_}) {
      for (const Machine::Event& event : fabric->machine.events)
        got.push_back({static_cast<int>(event.process) - 1, event.type, event.cookie});
      fabric->machine.events.clear();
    }
    want.swap(world_.events);
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    if (got == want) return;
    auto& out = differs() << "events; got";
    for (const auto& event : got)
      out << " " << event.process << ":" << static_cast<int>(event.type) << ":" << event.cookie;
    out << " wanted";
    for (const auto& event : want)
      out << " " << event.process << ":" << static_cast<int>(event.type) << ":" << event.cookie;
  }
};

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace

static void run_sequences(bool distant) {
  if (const std::uint64_t seed = number_of("SCELA_MODEL_SEED", 0); seed != 0) {
    CHECK_FALSE(Sequence(seed, true, distant).run());
    return;
  }
  const std::uint64_t sequences = number_of("SCELA_MODEL_SEQUENCES", 2000);
  const std::uint64_t first = number_of("SCELA_MODEL_FIRST", 1);
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    INFO("SCELA_MODEL_SEED=" << seed);
    REQUIRE_FALSE(Sequence(seed, false, distant).run());
  }
}

TEST_CASE("hca model: random sequences of verbs do what the model says") {
  run_sequences(false);
}

TEST_CASE("hca model: random sequences do the same where memory is not reached at once") {
  run_sequences(true);
}

}  // namespace scela::hca::test::model_test
