// Operations under way at once: of one communicator in the same order on all its ranks, of several
// communicators in any order, some of them prepared.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t value(int rank, std::size_t i, std::uint64_t seed) {
  return static_cast<std::int64_t>(seed % 1000 + i) * (rank + 1);
}

// One operation of a communicator, with its expected result.
class Flight {
 public:
  // `seed` is the same on all ranks of the communicator.
  Flight(Communicator& whose, std::uint64_t seed) : seed_(seed), ranks_(whose.size()) {
    constexpr std::size_t kFlightCounts[] = {1, 9, 600, 3'000, 12'345};
    const std::size_t count = kFlightCounts[seed / 8 % std::size(kFlightCounts)];
    const auto all = static_cast<std::size_t>(ranks_);
    const int root = static_cast<int>(seed % all);
    const int rank = whose.rank();
    own_ = numbers(rank, 0, count);
    out_.resize(count);
    switch (seed % 5) {
      case 0:
        if (rank == root) out_ = own_;
        expected_ = numbers(root, 0, count);
        call_ = Collective::bcast(out_, root);
        break;
      case 1:
        expected_ = summed(count);
        call_ = Collective::allreduce(own_, out_, ReduceOp::sum);
        break;
      case 2:
        out_.resize(all * count);
        for (int other = 0; other < ranks_; ++other)
          for (std::size_t i = 0; i < count; ++i)
            expected_.push_back(value(other, i, seed_));
        call_ = Collective::allgather(own_, out_);
        break;
      case 3:
        own_ = numbers(rank, 0, all * count);
        out_.resize(all * count);
        for (int other = 0; other < ranks_; ++other)
          for (std::size_t i = 0; i < count; ++i)
            expected_.push_back(value(other, static_cast<std::size_t>(rank) * count + i, seed_));
        call_ = Collective::alltoall(own_, out_);
        break;
      default:
        expected_ = rank == root ? summed(count) : Numbers(count);
        call_ = Collective::reduce(own_, out_, ReduceOp::sum, root);
        break;
    }
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  const Collective& call() const { return call_; }
  void check(int round) const {
    if (out_ != expected_)
      failed(cat("round ", round, ": other values than expected of kind ", seed_ % 5, " of ",
                 ranks_, " ranks"));
  }

 private:
  Numbers numbers(int rank, std::size_t first, std::size_t count) const {
    Numbers all(count);
    for (std::size_t i = 0; i < count; ++i)
      all[i] = value(rank, first + i, seed_);
    return all;
  }
  Numbers summed(std::size_t count) const {
    Numbers all(count);
    for (std::size_t i = 0; i < count; ++i)
      for (int rank = 0; rank < ranks_; ++rank)
        all[i] += value(rank, i, seed_);
    return all;
  }

  std::uint64_t seed_;
  int ranks_;
  Numbers own_, out_, expected_;
  Collective call_ = Collective::barrier();
};

std::vector<Communicator> communicators(Communicator& world) {
  std::vector<Communicator> all;
  all.push_back(world.dup());
  all.push_back(world.split(world.rank() % 2, -world.rank()));
  all.push_back(world.node());
  all.push_back(world.leaders());
  std::vector<int> turned;
  for (int rank = world.size() - 1; rank >= world.size() / 3; --rank)
    turned.push_back(rank);
  all.push_back(world.subgroup(turned));
  all.push_back(all[0].dup());
  return all;
}

struct Started {
  std::vector<std::unique_ptr<Flight>> flights;
  std::vector<Request> requests;
};

void end_all(Started& started, int round) {
  for (std::size_t left = started.requests.size(); left > 0; --left) {
    const std::size_t found = wait_any(started.requests);
    must(found < started.requests.size(), cat("round ", round, ": ", left, " are not over"));
    must(started.requests[found].wait(), cat("round ", round));
    started.flights[found]->check(round);
  }
  must(wait_any(started.requests) == started.requests.size(), "one more was over");
}

}  // namespace

void flights(Communicator& world, ProgressMode by) {
  constexpr int kRounds = 25;
  constexpr std::size_t kOfEach = 3;
  std::vector<Communicator> all = communicators(world);
  Random random(7);  // the same on all ranks
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::uint64_t> seeds;
    for (std::size_t i = 0; i < all.size() * kOfEach; ++i)
      seeds.push_back(random.next() % 10'000);
    Started started;
    // Each rank begins with another communicator, unless operations are done at once.
    const std::size_t turn =
        by == ProgressMode::at_once ? 0 : static_cast<std::size_t>(world.rank());
    std::vector<Request> prepared;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t which = (k + turn) % all.size();
      if (!all[which]) continue;
      for (std::size_t i = 0; i < kOfEach; ++i) {
        auto flight = std::make_unique<Flight>(all[which], seeds[which * kOfEach + i]);
        const bool is_prepared = round % 5 == 4 && i == 1;
        if (is_prepared) {
          started.requests.push_back(all[which].prepare(flight->call()));
          must(started.requests.back().start(), "start");
        } else {
          started.requests.push_back(all[which].start(flight->call()));
        }
        started.flights.push_back(std::move(flight));
      }
    }
    // One more operation is done at once, while those are under way.
    std::vector<int> one{world.rank()}, sum(1);
    must(world.run(Collective::allreduce(one, sum, ReduceOp::sum)), "allreduce meanwhile");
    must(sum[0] == world.size() * (world.size() - 1) / 2, "the sum meanwhile");
    end_all(started, round);
  }
}
