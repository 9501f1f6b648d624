#include "tests/sim/generate.h"

#include <algorithm>

#include "common/core/kary_tree.h"
#include "common/core/random.h"

namespace scela::sim {

namespace {

// What one collective may carry in all: enough for several pieces, little enough that two thousand
// schedules run in seconds.
constexpr std::uint64_t kCollectiveBytes = 512 * 1024;
// Answers of an allgather are members squared.
constexpr std::uint64_t kAllgatherMembers = 300;
constexpr std::uint64_t kAlltoallMembers = 40;
constexpr std::uint32_t kMaxRanks = 500;

class Generator {
 public:
  Generator(std::uint64_t seed, const Limits& limits) : random_(seed), limits_(limits) {
    plan_.seed = seed;
    plan_.delay_seed = random_.next() >> 1;
  }

  Schedule make() {
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
    }
    return std::move(plan_);
  }

 private:
  std::uint32_t number(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(random_.between(low, high));
  }
  Rank any_rank() { return static_cast<Rank>(random_.below(ranks_)); }
  std::uint32_t any_host() { return static_cast<std::uint32_t>(random_.below(plan_.hosts)); }

  void choose_shape() {
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
  void place_irregularly(std::uint32_t per_node) {
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

  void choose_pace() {
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

  void choose_job() {
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

  RankSet subset() {
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

  RankSet members(std::uint64_t most) {
    RankSet set = random_.chance(1, 2) ? RankSet::run(0, ranks_) : subset();
    if (set.size() <= most) return set;
    RankSet smaller;
    for (std::uint64_t i = 0; i < most; ++i)
      smaller.add(set.at(i));
    return smaller;
  }

  // Sizes crowd round the edges: nothing, one byte, a piece, a piece and one byte, several pieces.
  std::uint32_t payload_size(std::uint64_t most) {
    constexpr std::uint64_t kPiece = kMaxPiece;
    const std::uint64_t edges[] = {0, 1, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 17};
    const std::uint64_t size =
        random_.chance(1, 4) ? edges[random_.below(6)] : random_.below(1u << random_.below(16));
    return static_cast<std::uint32_t>(std::min(size, most));
  }

  Op& add(OpKind kind, Rank rank) {
    Op& op = plan_.ops.emplace_back();
    op.id = next_id_++;
    op.kind = kind;
    op.rank = rank;
    return op;
  }

  Op& add_collective(nla::CollectiveKind what, RankSet set) {
    Op& op = add(OpKind::collective, set.at(random_.below(set.size())));
    op.what = what;
    op.set = std::move(set);
    if (what == nla::CollectiveKind::barrier || what == nla::CollectiveKind::fence ||
        what == nla::CollectiveKind::allgather || what == nla::CollectiveKind::alltoall) {
      op.rank = 0;  // no root
    }
    return op;
  }

  void random_collective() {
    using nla::CollectiveKind;
    const auto what = static_cast<CollectiveKind>(random_.below(7));
    std::uint64_t most = ~std::uint64_t{0};
    if (what == CollectiveKind::allgather) most = kAllgatherMembers;
    if (what == CollectiveKind::alltoall) most = kAlltoallMembers;
    RankSet set = members(most);
    const std::uint64_t count = set.size();
    const std::uint64_t parts = what == CollectiveKind::alltoall    ? count * count
                                : what == CollectiveKind::broadcast ? 1
                                                                    : count;
    Op& op = add_collective(what, std::move(set));
    if (what != CollectiveKind::barrier && what != CollectiveKind::fence) {
      op.size = payload_size(kCollectiveBytes / parts);
      op.uneven = what != CollectiveKind::broadcast && random_.chance(1, 2);
    }
    op.async = random_.chance(1, 5);
    if (random_.chance(1, 8)) op.code = static_cast<std::int32_t>(number(1, 3));
    if (random_.chance(1, 60) && count > 1) {
      op.odd = true;
      op.peer = op.set.at(random_.below(count));
    }
  }

  void puts_and_gets(bool early) {
    const auto puts = number(1, 5);
    for (std::uint32_t i = 0; i < puts; ++i) {
      const Rank writer = any_rank();
      const std::uint32_t id = next_id_ + (early ? 1 : 0);
      if (early) {
        Op& get = add(OpKind::get, any_rank());
        get.peer = writer;
        get.ref = id;
        get.wait = get.async = true;
        owes_fence_ = true;
      }
      Op& put = add(OpKind::put, writer);
      put.size = payload_size(20'000);
      puts_.emplace_back(writer, put.id);
    }
    if (random_.chance(2, 3)) {
      const RankSet set = random_.chance(3, 4) ? RankSet::run(0, ranks_) : subset();
      owes_fence_ = owes_fence_ && set.size() < ranks_;
      add_collective(nla::CollectiveKind::fence, set);
    }
    gets();
  }

  void gets() {
    if (puts_.empty()) return;
    for (std::uint32_t i = number(0, 8); i > 0; --i) {
      const auto& [writer, id] = puts_[random_.below(puts_.size())];
      Op& get = add(OpKind::get, any_rank());
      get.peer = writer;
      get.ref = id;
      get.async = random_.chance(1, 3);
    }
  }

  void messages() {
    const auto count = number(1, 5);
    std::vector<Op> receives;
    for (std::uint32_t i = 0; i < count; ++i) {
      Op& send = add(OpKind::send, any_rank());
      send.peer = any_rank();
      send.code = static_cast<std::int32_t>(random_.below(3));
      send.size = payload_size(200'000);
      Op receive;
      receive.kind = OpKind::receive;
      receive.rank = send.peer;
      receive.peer = send.rank;
      receive.code = send.code;
      receive.async = random_.chance(1, 3);
      receives.push_back(receive);
    }
    for (Op& receive : receives) {
      receive.id = next_id_++;
      plan_.ops.push_back(receive);
    }
  }

  // Names that few ranks publish, now and then twice, and many ask about.
  void names() {
    const std::uint32_t first = next_id_;
    const std::uint32_t count = number(1, 3);
    for (std::uint32_t i = number(3, 12); i > 0; --i) {
      const auto dice = random_.below(10);
      const OpKind kind = dice < 3   ? OpKind::publish
                          : dice < 9 ? OpKind::lookup
                                     : OpKind::unpublish;
      Op& op = add(kind, any_rank());
      op.ref = first + number(0, count - 1);
      op.async = random_.chance(1, 3);
    }
  }

  void local_step() {
    const auto dice = random_.below(10);
    if (dice < 5) {
      Op& op = add(OpKind::output, any_rank());
      op.size = payload_size(300'000);
      op.wait = random_.chance(1, 3);
    } else if (dice < 7) {
      add(OpKind::pause, any_rank()).size = number(1, 20'000);
    } else if (dice < 8) {
      // Before its fence, a rank that joins would wait for what it must do itself.
      if (!owes_fence_) add(OpKind::join, any_rank());
    } else if (!plan_.stdin_ranks.empty()) {
      const RankSet& set = plan_.stdin_ranks;
      add(OpKind::read_input, set.at(random_.below(set.size()))).size = number(0, 100'000);
    }
  }

  // Linear in ranks however large the job: a fence over few pairs, gets, barriers, a broadcast, a
  // gather, output of every 16th rank.
  void big_program() {
    const RankSet world = RankSet::run(0, ranks_);
    for (Rank rank = 0; rank < ranks_; rank += std::max(1u, ranks_ / 64)) {
      Op& put = add(OpKind::put, rank);
      put.size = number(1, 100);
      puts_.emplace_back(rank, put.id);
    }
    add_collective(nla::CollectiveKind::fence, world);
    for (Rank rank = 0; rank < ranks_; rank += 5) {
      const auto& [writer, id] = puts_[random_.below(puts_.size())];
      Op& get = add(OpKind::get, rank);
      get.peer = writer;
      get.ref = id;
    }
    add_collective(nla::CollectiveKind::broadcast, world).size = 3 * kMaxPiece;
    add_collective(nla::CollectiveKind::gather, world).size = 16;
    for (Rank rank = 0; rank < ranks_; rank += 16)
      add(OpKind::output, rank).size = 500;
    add_collective(nla::CollectiveKind::barrier, world);
  }

  void choose_program() {
    if (limits_.exact_hosts > 0) return big_program();
    const std::uint32_t groups = number(0, ranks_ > 200 ? 8 : 16);
    for (std::uint32_t i = 0; i < groups; ++i) {
      const auto dice = random_.below(10);
      if (dice < 4) {
        random_collective();
      } else if (dice < 6) {
        puts_and_gets(random_.chance(1, 3));
      } else if (dice < 7) {
        messages();
      } else if (random_.chance(1, 5)) {
        names();
      } else {
        for (std::uint32_t k = number(1, 6); k > 0; --k)
          local_step();
      }
    }
    if (owes_fence_) add_collective(nla::CollectiveKind::fence, RankSet::run(0, ranks_));
  }

  Micros fault_time() {
    // Most of what can go wrong goes wrong soon: the scale is drawn first.
    return random_.below(Micros{1} << random_.between(6, 19));
  }

  void choose_faults() {
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

  void start_faults() {
    const std::uint32_t count = number(1, 1 + plan_.hosts / 4);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto how = static_cast<StartFault>(random_.below(6));
      const Micros delay = how == StartFault::slow ? random_.below(5'000'000)
                                                   : random_.below(random_.below(500'000));
      plan_.starts.push_back({any_host(), how, delay});
    }
  }

  void timed_fault() {
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

  void rank_death() {
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

  void stubborn_ranks() {
    for (std::uint32_t i = number(1, 4); i > 0; --i)
      plan_.stubborn.add(any_rank());
    user();
  }

  void user() {
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

  void choose_leftovers() {
    if (!random_.chance(1, 4)) return;
    for (std::uint32_t i = number(1, 3); i > 0; --i) {
      plan_.leftovers.push_back({any_rank(), static_cast<LeftoverKind>(random_.below(3))});
    }
  }

  // Agents in the middle are lost while the ranks run, and their children adopted.
  void choose_adoption() {
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
  void choose_terminal() {
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

  // One rank asks for more ranks, once or several times, and one of the last ones for more again,
  // so that their numbers are known. From a generator of its own, too.
  void choose_spawns() {
    Random random(plan_.seed ^ 0x737061776e);
    if (!random.chance(1, 3)) return;
    const bool peaceful = plan_.peaceful();
    auto asker = static_cast<Rank>(random.below(ranks_));
    Rank next = ranks_;
    std::size_t at = random.below(plan_.ops.size() + 1);
    const std::uint64_t count = random.between(1, 3);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0 && i + 1 == count && random.chance(1, 2)) {
        asker = next - 1;
        at = plan_.ops.size();
      }
      Op spawn;
      spawn.id = next_id_++;
      spawn.kind = OpKind::spawn;
      spawn.rank = asker;
      spawn.size = static_cast<std::uint32_t>(random.between(1, random.chance(1, 3) ? 40 : 8));
      plan_.ops.insert(plan_.ops.begin() + static_cast<std::ptrdiff_t>(at), spawn);
      at = at + 1 + random.below(plan_.ops.size() - at);
      spawned_program(random, next, spawn.size);
      if (!peaceful && random.chance(1, 5)) {
        plan_.not_started.add(next + static_cast<Rank>(random.below(spawn.size)));
      }
      next += spawn.size;
    }
  }

  void spawned_program(Random& random, Rank first, std::uint32_t size) {
    const RankSet world = RankSet::run(first, size);
    const auto any = [&] { return first + static_cast<Rank>(random.below(size)); };
    if (random.chance(1, 5)) return;
    std::vector<std::pair<Rank, std::uint32_t>> puts;
    for (std::uint64_t i = random.between(1, 5); i > 0; --i) {
      Op& put = add(OpKind::put, any());
      put.size = static_cast<std::uint32_t>(random.between(1, 2000));
      puts.emplace_back(put.rank, put.id);
    }
    add_collective(nla::CollectiveKind::fence, world);
    for (std::uint64_t i = random.between(1, 10); i > 0; --i) {
      const auto& [writer, id] = puts[random.below(puts.size())];
      Op& get = add(OpKind::get, any());
      get.peer = writer;
      get.ref = id;
    }
    add_collective(nla::CollectiveKind::allgather, world).size = 100;
    add(OpKind::output, any()).size = static_cast<std::uint32_t>(random.between(1, 100'000));
    if (!plan_.peaceful() && random.chance(1, 6)) {
      Op& leave = add(OpKind::leave, any());
      leave.code = static_cast<std::int32_t>(random.below(2));
    }
    if (random.chance(1, 2)) add_collective(nla::CollectiveKind::barrier, world);
  }

  // A host is slow, so that others start the nodes below it, or is not there at all; later those
  // that know how it went are lost. From a generator of its own, too.
  void choose_odd_tree() {
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
  void choose_turns() {
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

  // Soon after: before, while or after it adopts.
  void lose_parent_of(Fault fault) {
    const std::uint32_t parent = parents(plan_.hosts, plan_.degree)[fault.host];
    if (parent == kRootParent) return;
    fault.host = parent;
    fault.at += random_.below(Micros{1} << random_.between(6, 18));
    plan_.faults.push_back(fault);
  }

  // Output that waits everywhere on its way to a slow reader.
  void write_slowly() {
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
  std::uint32_t inner_host() {
    std::vector<std::uint32_t> inner;
    for (const std::uint32_t parent : parents(plan_.hosts, plan_.degree)) {
      if (parent != kRootParent && (inner.empty() || inner.back() != parent)) {
        inner.push_back(parent);
      }
    }
    return inner.empty() ? any_host() : inner[random_.below(inner.size())];
  }

  Random random_;
  Limits limits_;
  Schedule plan_;
  Rank ranks_ = 0;
  std::uint32_t next_id_ = 1;
  bool owes_fence_ = false;  // a get waits for what no fence of everybody has made visible yet
  std::vector<std::pair<Rank, std::uint32_t>> puts_;
};

}  // namespace

Schedule make_schedule(std::uint64_t seed, const Limits& limits) {
  return Generator(seed, limits).make();
}

}  // namespace scela::sim
