// Collective operations drawn by a seed that all ranks know: all kinds, several element types,
// algorithms by name or by the table, in place, persistent. Several are under way at once and
// waited for in any order, on communicators that are made and freed meanwhile. Each result is
// compared with the operation's definition.
//
//   coll SEED BATCHES OPERATIONS EXECUTOR [MOST]     OPERATIONS: in a batch; MOST: elements
#include <random>

#include "tests/strangers/matrix/programs/coll_case.h"

namespace matrix {
namespace {

using Random = std::mt19937_64;

struct Live {
  std::unique_ptr<Case> one;
  Request request;
};

std::vector<std::string> algorithms(int kind, bool commutes, bool several) {
  std::vector<std::string> all;
  switch (kind) {
    case barrier:
      all = {"recursive-doubling", "dissemination", "dissemination radix 3"};
      break;
    case bcast:
      all = {"flat",       "chain segment 1K", "binary", "binomial", "k-nomial radix 4",
             "sequential", "scatter-allgather"};
      break;
    case reduce:
      all = {"flat",      "chain segment 1K", "binary", "binomial segment 2K", "k-nomial radix 3",
             "sequential"};
      break;
    case gather:
    case scatter:
      all = {"flat", "chain", "binary", "binomial", "k-nomial radix 4", "sequential"};
      break;
    case gatherv:
    case scatterv:
      return {"flat", "sequential"};
    case allgather:
    case allgatherv:
      all = {"direct",
             "ring",
             "neighbour-exchange",
             "binomial",
             "standard-exchange radix 4",
             "bruck radix 3",
             "eager-bruck",
             "rendezvous-ring"};
      break;
    case alltoall:
      all = {"flat", "ring", "pairwise", "bruck", "bruck radix 3"};
      break;
    case alltoallv:
      return {"flat", "ring", "pairwise"};
    case allreduce:
      all = {"recursive-doubling", "rabenseifner", "reduce-bcast"};
      break;
    case reduce_scatter_block:
    case reduce_scatter:
      all = {"pairwise", "reduce-scatter"};
      break;
    default:
      return {"chain", "chain segment 1K", "recursive-doubling"};
  }
  const bool by_nodes = kind != allgatherv && kind != reduce_scatter &&
                        kind != reduce_scatter_block &&
                        (commutes || (kind != reduce && kind != allreduce));
  if (several && by_nodes) all.emplace_back("hierarchical");
  if (commutes && kind == allreduce) all.emplace_back("ring segment 2K");
  if (commutes && (kind == reduce_scatter || kind == reduce_scatter_block))
    all.emplace_back("recursive-halving");
  return all;
}

// Makes one more communicator out of an existing one, in the same way on all of its ranks.
Communicator made_of(Communicator& from, Random& common) {
  const std::uint64_t seed = common();
  const auto own = static_cast<std::uint64_t>(from.rank());
  switch (common() % 5) {
    case 0:
      return from.dup();
    case 1:
      return from.split(static_cast<int>(mix(seed ^ own) % 3),
                        static_cast<int>(mix(seed + own) % 100));
    case 2:
      return from.node();
    case 3:
      return from.leaders();
    default:
      break;
  }
  Numbers ranks;
  for (int i = 0; i < from.size(); ++i)
    if (i == 0 || mix(seed + static_cast<std::uint64_t>(i)) % 3 != 0) ranks.push_back(i);
  Random order(seed);
  std::ranges::shuffle(ranks, order);
  return from.subgroup(ranks);
}

class Player {
 public:
  Player(Here& here, std::uint64_t seed, std::size_t most)
      : seed_(seed), own_(static_cast<std::uint64_t>(here.rank())), max_(most) {
    all_.push_back(std::move(here.world));
  }

  void batch(std::uint64_t number, int operations) {
    Random common(mix(seed_ * 7919 + number));
    Random alone(mix(seed_ * 7919 + number) ^ (own_ + 1) * 999'983);
    change(common);
    for (int i = 0; i < operations; ++i)
      begin(common, alone);
    end(alone);
  }
  // Ends with the communicators that the last batch has left, and the world.
  unsigned long finish() {
    must(all_.front().barrier(), "at the end");
    while (all_.size() > 1)
      all_.pop_back();
    return operations_;
  }

 private:
  // All ranks draw as many numbers, also those that are not in the communicator.
  void change(Random& common) {
    const std::uint64_t what = common(), seed = common();
    if (what % 3 == 0 && all_.size() < 8) {
      Communicator& from = all_[what / 8 % all_.size()];
      Random drawn(seed);
      all_.push_back(from ? made_of(from, drawn) : Communicator());
    } else if (what % 8 == 1 && all_.size() > 3) {
      const std::size_t place = 1 + what / 8 % (all_.size() - 1);
      if (all_[place]) all_[place].free();
      all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }

  void begin(Random& common, Random& alone) {
    const std::uint64_t where = common(), seed = common(), bits = common(), way = common();
    Communicator& among = all_[where % all_.size()];
    if (!among) return;
    const auto type = static_cast<unsigned>(bits >> 8 & 255);
    Drawn drawn;
    drawn.kind = static_cast<int>(bits % kinds);
    drawn.seed = seed;
    drawn.root = static_cast<int>(way % static_cast<unsigned>(among.size()));
    drawn.count = seed % 10 < 5 ? seed / 16 % 40 : seed / 16 % (max_ + 1);
    drawn.in_place = (bits >> 16 & 7) < 2;
    const auto named = algorithms(drawn.kind, commutes(type), among.nodes() > 1);
    if (bits >> 20 & 1) drawn.algorithm = named[(bits >> 24) % named.size()];
    auto one = case_of(drawn, type, among.rank(), among.size());
    ++operations_;
    one->fill(0);
    if ((way >> 8) % 5 == 0) return again_and_again(among, *one, 2 + (way >> 16) % 3, alone);
    if ((way >> 8) % 5 == 1) {
      must(among.run(one->collective()), one->text());
      return one->check();
    }
    Request request = among.start(one->collective());
    live_.push_back({std::move(one), std::move(request)});
  }

  static void again_and_again(Communicator& among, Case& one, std::uint64_t rounds, Random& alone) {
    Request request = among.prepare(one.collective());
    for (std::uint64_t round = 0; round < rounds; ++round) {
      one.fill(round);
      must(request.start(), one.text());
      while (alone() % 3 != 0 && !request.test()) {
      }
      must(request.wait(kLimit), one.text());
      one.check();
    }
  }

  // Ends the operations in an order of this rank's own, by wait(), wait_any() or test().
  void end(Random& alone) {
    const auto ended = [](Live& live) {
      must(live.request.wait(kLimit), live.one->text());
      live.one->check();
    };
    const auto style = alone() % 3;
    if (style == 0) std::ranges::shuffle(live_, alone);
    if (style == 1) {
      std::vector<Request*> all;
      for (Live& live : live_)
        all.push_back(&live.request);
      for (std::size_t left = live_.size(); left > 0; --left) {
        const std::size_t place = scela::wait_any(all, kLimit);
        must(place < all.size(), "none of ", left, " is over");
        ended(live_[place]);
      }
    } else {
      for (Live& live : live_) {
        while (style == 2 && !live.request.test()) {
        }
        ended(live);
      }
    }
    live_.clear();
  }

  const std::uint64_t seed_, own_;
  const std::size_t max_;
  std::vector<Communicator> all_;
  std::vector<Live> live_;
  unsigned long operations_ = 0;
};

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const auto seed = static_cast<std::uint64_t>(number(argc, argv, 1, 1));
  const long batches = number(argc, argv, 2, 10);
  const int operations = static_cast<int>(number(argc, argv, 3, 10));
  Here here = open(argument(argc, argv, 4, "polled"));
  Player player(here, seed, static_cast<std::size_t>(number(argc, argv, 5, 3000)));
  for (long i = 0; i < batches; ++i)
    player.batch(static_cast<std::uint64_t>(i), operations);
  must(player.finish() > 0, "no operation was drawn");
  say(here.rank(), cat(batches, " batches of seed ", seed, ": all results right"));
  return 0;
}
