// Draws the faults of a job: starts that fail, agents and ranks that are lost, impatient users.
#include <algorithm>

#include "common/core/kary_tree.h"
#include "tests/sim/generator/generator.h"

namespace scela::sim {

Micros Generator::fault_time() {
  // Most of what can go wrong goes wrong soon: the scale is drawn first.
  return random_.below(Micros{1} << random_.between(6, 19));
}

void Generator::choose_faults() {
  for (std::uint32_t i = number(1, 4); i > 0; --i) {
    switch (random_.below(8)) {
      case 0:
        start_faults();
        break;
      case 1:
      case 2:
        timed_fault();
        break;
      case 3:
      case 4:
        rank_death();
        break;
      case 5:
        plan_.not_started.add(any_rank());
        break;
      case 6:
        stubborn_ranks();
        break;
      default:
        user();
    }
  }
}

void Generator::start_faults() {
  const std::uint32_t count = number(1, 1 + plan_.hosts / 4);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto how = static_cast<StartFault>(random_.below(6));
    const Micros delay =
        how == StartFault::slow ? random_.below(5'000'000) : random_.below(random_.below(500'000));
    plan_.starts.push_back({any_host(), how, delay});
  }
}

void Generator::timed_fault() {
  Fault fault;
  fault.kind = static_cast<FaultKind>(random_.below(6));
  fault.host = any_host();
  // The launcher itself may be killed too; it has no guardian and no parent.
  if (random_.chance(1, 12)) {
    fault.host = kRootHost;
    fault.kind = FaultKind::crash;
  }
  fault.at = fault_time();
  fault.after_launch = random_.chance(2, 3);
  plan_.faults.push_back(fault);
}

void Generator::rank_death() {
  Op op;
  const auto dice = random_.below(10);
  op.kind = dice < 3   ? OpKind::leave
            : dice < 6 ? OpKind::die
            : dice < 8 ? OpKind::unfinished
            : dice < 9 ? OpKind::abort
                       : OpKind::violate;
  op.id = next_id_++;
  op.rank = any_rank();
  const std::int32_t signals[] = {6, 9, 11, 15};
  if (op.kind == OpKind::leave || op.kind == OpKind::abort) {
    op.code = static_cast<std::int32_t>(random_.below(4) == 0 ? 0 : random_.between(1, 255));
  } else if (op.kind == OpKind::die) {
    op.code = signals[random_.below(4)];
  }
  const auto at = static_cast<std::ptrdiff_t>(random_.below(plan_.ops.size() + 1));
  plan_.ops.insert(plan_.ops.begin() + at, op);
}

void Generator::stubborn_ranks() {
  for (std::uint32_t i = number(1, 4); i > 0; --i)
    plan_.stubborn.add(any_rank());
  user();
}

void Generator::user() {
  Stimulus stimulus;
  stimulus.stop = random_.chance(2, 3);
  stimulus.cause = static_cast<nla::StopCause>(random_.below(3));
  const std::int32_t signals[] = {1, 2, 10, 12, 15};
  stimulus.signo = signals[random_.below(stimulus.stop ? 2 : 5)];
  if (stimulus.stop && random_.chance(1, 2)) stimulus.signo = 15;
  stimulus.grace_ms = number(0, 1) * number(1, 400);
  stimulus.at = fault_time();
  stimulus.after_launch = random_.chance(2, 3);
  plan_.stimuli.push_back(stimulus);
  if (stimulus.stop && random_.chance(1, 4)) {  // and again, impatiently
    stimulus.grace_ms = 0;
    stimulus.at += random_.below(100'000);
    plan_.stimuli.push_back(stimulus);
  }
}

void Generator::choose_leftovers() {
  if (!random_.chance(1, 4)) return;
  for (std::uint32_t i = number(1, 3); i > 0; --i) {
    plan_.leftovers.push_back({any_rank(), static_cast<LeftoverKind>(random_.below(3))});
  }
}

// Agents in the middle are lost while the ranks run, and their children adopted.
void Generator::choose_adoption() {
  if (plan_.on_failure != nla::OnFailure::wait || !random_.chance(3, 4)) return;
  plan_.adopt_ms = number(1, random_.chance(1, 4) ? 100 : 3000);
  if (random_.chance(1, 3)) plan_.attach_fails = number(2, 20);
  if (plan_.faults.empty() && plan_.peaceful() && !random_.chance(1, 2)) return;
  if (random_.chance(1, 4)) return;
  for (std::uint32_t i = number(1, 4); i > 0; --i) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(random_.below(4));
    fault.host = inner_host();
    fault.at = fault_time();
    fault.after_launch = random_.chance(9, 10);
    plan_.faults.push_back(fault);
    if (random_.chance(1, 2)) lose_parent_of(fault);
  }
  if (random_.chance(1, 2)) write_slowly();
}

// From a generator of its own: schedules that were there before it are the same still.
void Generator::choose_terminal() {
  Random random(plan_.seed ^ 0x7465726d696e616c);
  if (!random.chance(1, 3)) return;
  plan_.terminal_ranks = RankSet::single(static_cast<Rank>(random.below(ranks_)));
  for (std::uint64_t i = random.between(1, 20); i > 0; --i) {
    Window window;
    window.at = random.below(Micros{1} << random.between(8, 22));
    window.after_launch = random.chance(9, 10);
    plan_.windows.push_back(window);
  }
}

// A host is slow, so that others start the nodes below it, or is not there at all; later those
// that know how it went are lost. From a generator of its own, too.
void Generator::choose_odd_tree() {
  Random random(plan_.seed ^ 0x6f64642074726565);
  if (plan_.adopt_ms == 0 || !random.chance(1, 2)) return;
  const std::vector<std::uint32_t> parent = parents(plan_.hosts, plan_.degree);
  const auto host = static_cast<std::uint32_t>(random.below(plan_.hosts));
  if (parent[host] == kRootParent) return;
  const bool slow = random.chance(2, 3);
  plan_.starts.push_back({host, slow ? StartFault::slow : StartFault::refused,
                          slow ? random.between(1'000'000, 4'000'000) : random.below(100'000)});
  plan_.adopt_ms = static_cast<std::uint32_t>(random.between(1000, 3000));
  Fault fault;
  fault.kind = random.chance(1, 2) ? FaultKind::crash : FaultKind::crash_silent;
  fault.after_launch = true;
  fault.at = random.below(Micros{1} << random.between(8, 20));
  for (std::uint32_t up = parent[host]; up != kRootParent; up = parent[up]) {
    fault.host = up;
    plan_.faults.push_back(fault);
    fault.at += random.below(Micros{1} << random.between(1, 12));
  }
}

// Children of one agent have to wait for each other. From a generator of its own, too.
void Generator::choose_turns() {
  Random random(plan_.seed ^ 0x7475726e7475726e);
  if (!random.chance(1, 4)) return;
  const std::vector<std::uint32_t> parent = parents(plan_.hosts, plan_.degree);
  const std::uint32_t whose = parent[random.below(plan_.hosts)];
  const Micros each = random.below(Micros{1} << random.between(10, 21));
  Micros turn = 0;
  std::uint64_t at_once = random.between(1, 4);
  bool slow = random.chance(1, 4);
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    if (parent[host] != whose) continue;
    if (at_once > 0) {
      --at_once;
      if (!std::exchange(slow, false)) continue;
      plan_.starts.push_back({host, StartFault::slow, random.between(1'000'000, 4'000'000)});
    } else {
      turn += each;
      plan_.starts.push_back({host, StartFault::waits, turn});
    }
  }
}

// Some spawns want hosts that have no agent yet, and those go wrong in all ways that others do.
// From a generator of its own, too.
void Generator::choose_growth() {
  Random random(plan_.seed ^ 0x67726f777468);
  const bool peaceful = plan_.peaceful();
  std::uint32_t hosts = plan_.hosts;
  for (Op& op : plan_.ops) {
    if (op.kind != OpKind::spawn || !random.chance(1, 2)) continue;
    op.ref = static_cast<std::uint32_t>(random.between(1, random.chance(1, 3) ? 12 : 3));
    for (std::uint32_t i = 0; i < op.ref; ++i, ++hosts) {
      if (random.chance(1, 6)) {
        plan_.starts.push_back({hosts, StartFault::waits, random.below(200'000)});
      }
      if (peaceful || !random.chance(1, 4)) continue;
      if (random.chance(1, 2)) {
        const auto how = static_cast<StartFault>(random.below(6));
        plan_.starts.push_back({hosts, how, random.below(random.below(3'000'000) + 1)});
        continue;
      }
      Fault fault;
      fault.kind = static_cast<FaultKind>(random.below(6));
      fault.host = hosts;
      fault.at = random.below(Micros{1} << random.between(10, 21));
      fault.after_launch = true;
      plan_.faults.push_back(fault);
    }
  }
}

// Soon after: before, while or after it adopts.
void Generator::lose_parent_of(Fault fault) {
  const std::uint32_t parent = parents(plan_.hosts, plan_.degree)[fault.host];
  if (parent == kRootParent) return;
  fault.host = parent;
  fault.at += random_.below(Micros{1} << random_.between(6, 18));
  plan_.faults.push_back(fault);
}

// Output that waits everywhere on its way to a slow reader.
void Generator::write_slowly() {
  for (std::uint32_t i = number(1, 20); i > 0; --i) {
    Op op;
    op.kind = OpKind::output;
    op.id = next_id_++;
    op.rank = any_rank();
    op.size = number(1, random_.chance(1, 4) ? 300'000 : 60'000);
    op.wait = random_.chance(1, 3);
    const auto at = static_cast<std::ptrdiff_t>(random_.below(plan_.ops.size() + 1));
    plan_.ops.insert(plan_.ops.begin() + at, op);
  }
  if (random_.chance(1, 2)) plan_.pace.show_max = number(10'000, 200'000);
}

// In a healthy tree.
std::uint32_t Generator::inner_host() {
  std::vector<std::uint32_t> inner;
  for (const std::uint32_t parent : parents(plan_.hosts, plan_.degree)) {
    if (parent != kRootParent && (inner.empty() || inner.back() != parent)) {
      inner.push_back(parent);
    }
  }
  return inner.empty() ? any_host() : inner[random_.below(inner.size())];
}

}  // namespace scela::sim
