#include "tests/sim/generator/generate.h"

#include <algorithm>

#include "common/core/kary_tree.h"
#include "tests/sim/generator/generator.h"

namespace scela::sim {

namespace {

constexpr std::uint32_t kMaxRanks = 500;

// One job in six, of those that may, is launched while its agents are being started. The draw is
// the last one, so that it changes no other property of a schedule.
void choose_early(Schedule& plan, Random& random) {
  const bool spawns =
      std::ranges::any_of(plan.ops, [](const Op& op) { return op.kind == OpKind::spawn; });
  if (spawns || plan.policy == cache::PolicyKind::dht || !random.chance(1, 6)) return;
  plan.early = true;
  plan.degree = plan.hosts;
}

}  // namespace

Generator::Generator(std::uint64_t seed, const Limits& limits) : random_(seed), limits_(limits) {
  plan_.seed = seed;
  plan_.delay_seed = random_.next() >> 1;
}

Schedule Generator::make() {
  choose_shape();
  choose_pace();
  choose_job();
  choose_program();
  if (limits_.exact_hosts == 0) {
    // Every third schedule is undisturbed: there nothing may fail at all.
    if (!random_.chance(1, 3)) choose_faults();
    choose_leftovers();
    choose_adoption();
    choose_odd_tree();
    choose_turns();
    choose_terminal();
    choose_spawns();
    choose_growth();
    choose_early(plan_, random_);
  }
  return std::move(plan_);
}

void Generator::choose_shape() {
  const std::uint32_t most = limits_.max_hosts;
  if (limits_.exact_hosts > 0) {
    plan_.hosts = limits_.exact_hosts;
  } else {
    const auto dice = random_.below(10);
    const std::uint32_t top = dice < 4 ? 6 : dice < 7 ? 20 : dice < 9 ? 70 : most;
    plan_.hosts = number(1, std::min(top, most));
  }
  const bool regular = limits_.exact_hosts > 0 || random_.chance(1, 2);
  const std::uint32_t budget = std::max(1u, kMaxRanks / plan_.hosts);
  const std::uint32_t per_node = limits_.exact_hosts > 0 ? 2 : number(1, std::min(6u, budget));
  if (regular) {
    for (std::uint32_t node = 0; node < plan_.hosts; ++node)
      plan_.place.emplace_back(node, per_node);
  } else {
    place_irregularly(per_node);
  }
  ranks_ = plan_.map().size();
  const auto chosen = choose_degree(plan_.hosts, per_node, TreeLimits{});
  plan_.degree = chosen.value_or(4);
  if (limits_.exact_hosts == 0 && random_.chance(1, 2)) plan_.degree = number(1, 8);
  // A chain of agents is worth a test, but not at any length: its delays add up.
  if (plan_.degree == 1 && plan_.hosts > 24) plan_.degree = 2;
}

// Nodes out of order, nodes without ranks, nodes that come up again.
void Generator::place_irregularly(std::uint32_t per_node) {
  std::uint32_t total = 0;
  const std::uint32_t blocks = number(1, plan_.hosts + 2);
  for (std::uint32_t i = 0; i < blocks && total < kMaxRanks; ++i) {
    const std::uint32_t node = random_.chance(2, 3) ? i % plan_.hosts : any_host();
    const std::uint32_t ranks = number(0, per_node);
    if (ranks == 0) continue;
    plan_.place.emplace_back(node, ranks);
    total += ranks;
  }
  if (total == 0) plan_.place.emplace_back(any_host(), 1);
}

void Generator::choose_pace() {
  Pace& pace = plan_.pace;
  pace.link_min = number(1, 100);
  pace.link_max = pace.link_min + number(0, 1) * number(10, 3000);
  pace.tail = random_.chance(1, 2) ? number(5, 100) : 0;
  pace.start_min = number(100, 2000);
  pace.start_max = pace.start_min + number(100, 100000);
  pace.notice_max = random_.chance(1, 4) ? 2'000'000 : 5000;
  pace.think_max = number(0, 400);
  pace.show_max = random_.chance(1, 4) ? 20000 : 300;
}

void Generator::choose_job() {
  plan_.on_failure = random_.chance(1, 3) ? nla::OnFailure::wait : nla::OnFailure::kill;
  plan_.grace_ms = number(0, 1) * number(1, 500);
  plan_.trace = random_.chance(1, 5);
  plan_.launch_anyway = random_.chance(2, 3);
  plan_.remap = random_.chance(1, 2);
  plan_.local_children = random_.chance(1, 2);
  // The last, dht, goes with jobs only that end with the first agent that is lost.
  const bool wait = plan_.on_failure == nla::OnFailure::wait;
  plan_.policy =
      static_cast<cache::PolicyKind>(random_.below(cache::kPolicyKinds - (wait ? 1 : 0)));
  if (random_.chance(1, 3)) plan_.cache_limit = number(1, 4000);
  if (random_.chance(1, 3)) {
    const auto choice = random_.below(3);
    plan_.stdin_ranks = choice == 0   ? RankSet::single(0)
                        : choice == 1 ? RankSet::run(0, ranks_)
                                      : subset();
    // Several targets are fed at the pace of the slowest, one that never reads included: more
    // than the agents read ahead would be a deadlock of the program's own making.
    const std::uint64_t most = plan_.stdin_ranks.size() == 1 ? 500'000 : 250'000;
    plan_.stdin_bytes = random_.below(random_.below(most) + 1);
  }
}

RankSet Generator::subset() {
  RankSet set;
  switch (random_.below(4)) {
    case 0: {
      const Rank first = any_rank();
      return RankSet::run(first, number(1, ranks_ - first));
    }
    case 1: {
      const std::uint32_t step = number(1, 5);
      for (Rank rank = any_rank() % step; rank < ranks_; rank += step)
        set.add(rank);
      break;
    }
    default: {
      const auto count = number(1, std::min<Rank>(ranks_, 12));
      for (std::uint32_t i = 0; i < count; ++i)
        set.add(any_rank());
    }
  }
  if (set.empty()) set.add(any_rank());
  return set;
}

Schedule make_schedule(std::uint64_t seed, const Limits& limits) {
  return Generator(seed, limits).make();
}

}  // namespace scela::sim
