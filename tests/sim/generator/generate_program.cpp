// Draws the program of a job: collectives, pairs, messages, names, output, input, more ranks.
#include <algorithm>

#include "tests/sim/generator/generator.h"

namespace scela::sim {

namespace {

// The most bytes of one collective in all: enough for several pieces, and few enough that two
// thousand schedules run in seconds.
constexpr std::uint64_t kCollectiveBytes = 512 * 1024;
// Answers of an allgather are members squared.
constexpr std::uint64_t kAllgatherMembers = 300;
constexpr std::uint64_t kAlltoallMembers = 40;

}  // namespace

RankSet Generator::members(std::uint64_t most) {
  RankSet set = random_.chance(1, 2) ? RankSet::run(0, ranks_) : subset();
  if (set.size() <= most) return set;
  RankSet smaller;
  for (std::uint64_t i = 0; i < most; ++i)
    smaller.add(set.at(i));
  return smaller;
}

// Sizes crowd round the edges: nothing, one byte, a piece, a piece and one byte, several pieces.
std::uint32_t Generator::payload_size(std::uint64_t most) {
  constexpr std::uint64_t kPiece = kMaxPiece;
  const std::uint64_t edges[] = {0, 1, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 17};
  const std::uint64_t size =
      random_.chance(1, 4) ? edges[random_.below(6)] : random_.below(1u << random_.below(16));
  return static_cast<std::uint32_t>(std::min(size, most));
}

Op& Generator::add(OpKind kind, Rank rank) {
  Op& op = plan_.ops.emplace_back();
  op.id = next_id_++;
  op.kind = kind;
  op.rank = rank;
  return op;
}

Op& Generator::add_collective(nla::CollectiveKind what, RankSet set) {
  Op& op = add(OpKind::collective, set.at(random_.below(set.size())));
  op.what = what;
  op.set = std::move(set);
  if (what == nla::CollectiveKind::barrier || what == nla::CollectiveKind::fence ||
      what == nla::CollectiveKind::allgather || what == nla::CollectiveKind::alltoall) {
    op.rank = 0;  // no root
  }
  return op;
}

void Generator::random_collective() {
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

void Generator::puts_and_gets(bool early) {
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

void Generator::gets() {
  if (puts_.empty()) return;
  for (std::uint32_t i = number(0, 8); i > 0; --i) {
    const auto& [writer, id] = puts_[random_.below(puts_.size())];
    Op& get = add(OpKind::get, any_rank());
    get.peer = writer;
    get.ref = id;
    get.async = random_.chance(1, 3);
  }
}

void Generator::messages() {
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
void Generator::names() {
  const std::uint32_t first = next_id_;
  const std::uint32_t count = number(1, 3);
  for (std::uint32_t i = number(3, 12); i > 0; --i) {
    const auto dice = random_.below(10);
    const OpKind kind = dice < 3 ? OpKind::publish : dice < 9 ? OpKind::lookup : OpKind::unpublish;
    Op& op = add(kind, any_rank());
    op.ref = first + number(0, count - 1);
    op.async = random_.chance(1, 3);
  }
}

void Generator::local_step() {
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
void Generator::big_program() {
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

void Generator::choose_program() {
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

// One rank asks for more ranks, once or several times, and one of the last ones for more again,
// so that their numbers are known. From a generator of its own, too.
void Generator::choose_spawns() {
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

void Generator::spawned_program(Random& random, Rank first, std::uint32_t size) {
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

}  // namespace scela::sim
