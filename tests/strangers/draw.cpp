// Every plan can be carried out without anything of the library's that is not promised:
//
// * A context has receives of such patterns only that each gets a message in whatever order they
//   come: exact ones; of any tag, or exact, by source; of any source, or exact, by tag; of any.
// * A message may meet the receive of a later step (any source). Its sender would then wait for
//   that step. So such messages are short, and are not sent with issend.
#include "tests/strangers/draw.h"

#include <algorithm>
#include <utility>

#include "tests/strangers/contents.h"

namespace strangers {
namespace {

using scela::ElementType;
using scela::ProgressMode;

constexpr std::uint64_t kMaxOperation = std::uint64_t{4} << 20;  // bytes of an output
constexpr std::uint64_t kMaxEarly = 2000;  // bytes of a message that may meet a later receive
constexpr int kMaxCommunicators = 10;
constexpr int kMaxTag = 0x7fff'ffff;

class Drawing {
 public:
  explicit Drawing(const Wishes& wishes) : wishes_(wishes), state_(mix(wishes.seed)) {}
  Plan plan();

 private:
  std::uint64_t next() { return state_ = mix(state_); }
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : next() % limit; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class Enum>
  Enum among(Enum last) {
    return static_cast<Enum>(below(static_cast<std::uint64_t>(last) + 1));
  }
  std::uint64_t size();
  int rank() { return static_cast<int>(below(static_cast<std::uint64_t>(wishes_.ranks))); }

  Step& add(Kind kind);
  void add_world();
  void add_message(bool fragile);
  void add_collective(int of);
  void add_made();
  void add_end();
  void add_one();
  int some_communicator() { return communicators_[below(communicators_.size())]; }

  Wishes wishes_;
  std::uint64_t state_;
  Plan plan_;
  std::vector<int> roots_, communicators_;  // with all ranks; all of them
  std::vector<int> alive_;
  int operations_ = 0, next_communicator_ = 0;
};

// Draws a size around the limits at which messages go in another way, mostly a short one.
std::uint64_t Drawing::size() {
  constexpr std::uint64_t kShort[] = {0, 1, 3, 8, 24, 25, 100, 700, 1500};
  constexpr std::uint64_t kLimits[] = {2048, 4096, 8192, 16384, 20000};
  constexpr std::uint64_t kLong[] = {65536, 100000, 262144};
  constexpr std::uint64_t kLongest[] = {1 << 20, 2000000, 3 << 20};
  const auto near = [&](auto& sizes) {
    const std::uint64_t size = sizes[below(std::size(sizes))];
    return one_in(2) ? size : size + below(3) - 1;
  };
  const std::uint64_t drawn = below(1000);
  if (drawn < 700) return kShort[below(std::size(kShort))];
  if (drawn < 950) return near(kLimits);
  return drawn < 995 ? near(kLong) : near(kLongest);
}

Step& Drawing::add(Kind kind) {
  Step& step = plan_.steps.emplace_back();
  step.number = plan_.steps.size();
  step.kind = kind;
  return step;
}

void Drawing::add_world() {
  Step& step = add(Kind::world);
  step.as = next_communicator_++;
  step.by = wishes_.executors[below(wishes_.executors.size())];
  step.check = one_in(4);
  roots_.push_back(step.as);
  communicators_.push_back(step.as);
}

void Drawing::add_message(bool fragile) {
  Step& step = add(Kind::message);
  step.from = alive_[below(alive_.size())];
  step.to = one_in(20) ? step.from : alive_[below(alive_.size())];
  step.tag = one_in(30) ? kMaxTag : static_cast<int>(below(6));
  step.context = static_cast<int>(below(5));
  step.bytes = size();
  step.sending = among(Sending::persistent);
  step.receiving = among(Receiving::persistent);
  if (one_in(8) || step.sending == Sending::persistent || step.receiving == Receiving::persistent)
    step.times = 1 + static_cast<int>(below(4));
  switch (fragile ? 0 : step.context) {
    case 2:
      step.pattern = step.from % 2 == 0 ? Pattern::any_tag : Pattern::exact;
      break;
    case 3:
      step.pattern = step.tag % 2 == 0 ? Pattern::any_source : Pattern::exact;
      break;
    case 4:
      step.pattern = Pattern::any;
      break;
    default:
      break;
  }
  const bool early = step.pattern == Pattern::any_source || step.pattern == Pattern::any;
  if (early) step.bytes = below(kMaxEarly + 1);
  if (early && step.sending == Sending::issend) step.sending = Sending::isend;
  step.room = early ? kMaxEarly : step.bytes;
  if (!early && one_in(16)) step.room = one_in(2) ? step.bytes + below(100) : below(step.bytes + 1);
  ++operations_;
}

void Drawing::add_collective(int of) {
  Step& step = add(Kind::collective);
  step.of = of;
  step.operation = among(Operation::reduce_scatter);
  if (reduces(step.operation)) {
    do {
      step.type = among(ElementType::opaque);
      step.reduction = among(Reduction::own_affine);
    } while (!is_of(step.reduction, step.type));
    // This is the only reduction that fits and does not commute.
    if (one_in(4)) {
      step.type = ElementType::opaque;
      step.reduction = Reduction::own_affine;
    }
  } else {
    step.type = among(ElementType::opaque);
  }
  step.count = size() / size_of(step.type);
  const auto ranks = static_cast<std::uint64_t>(wishes_.ranks);
  if (step.count * size_of(step.type) * ranks > kMaxOperation)
    step.count = kMaxOperation / ranks / size_of(step.type);
  step.root = rank();
  step.in_place = one_in(3);
  step.calling = among(Calling::prepare);
  if (step.calling == Calling::prepare) step.times = 1 + static_cast<int>(below(3));
  const auto algorithms = algorithms_of(step.operation, commutes(step.reduction));
  if (!one_in(3)) step.algorithm = algorithms[below(algorithms.size())];
  ++operations_;
}

void Drawing::add_made() {
  static constexpr Kind kKinds[] = {Kind::dup,  Kind::split,   Kind::subgroup,
                                    Kind::node, Kind::leaders, Kind::shrink};
  const int of = some_communicator();
  Step& step = add(kKinds[below(std::size(kKinds))]);
  step.of = of;
  step.as = next_communicator_++;
  if (step.kind == Kind::split)
    for (int each = 0; each < wishes_.ranks; ++each) {
      step.list.push_back(static_cast<int>(below(4)) - 1);
      step.keys.push_back(static_cast<int>(below(5)));
    }
  if (step.kind == Kind::subgroup) {
    std::vector<std::pair<std::uint64_t, int>> order;
    for (int each = 0; each < wishes_.ranks; ++each)
      order.emplace_back(next(), each);
    std::sort(order.begin(), order.end());
    order.resize(1 + below(order.size()));
    for (const auto& [key, place] : order)
      step.list.push_back(place);
  }
  communicators_.push_back(step.as);
}

// A rank ends among operations of all kinds that it is in, and the others go on without it.
void Drawing::add_end() {
  const int rank = alive_[below(alive_.size())];
  const std::uint64_t before = 1 + below(12), after = 1 + below(8);
  Step& end = add(Kind::end);
  end.rank = rank;
  end.ending = among(Ending::leave);
  end.at = end.number + 1 + before;
  for (std::uint64_t i = 0; i < before + after; ++i)
    if (one_in(2))
      add_message(true);
    else
      add_collective(some_communicator());
  std::erase(alive_, rank);
  std::vector<int> shrunk;
  for (const int root : roots_) {
    if (one_in(2)) add(Kind::agree).of = root;
    Step& shrink = add(Kind::shrink);
    shrink.of = root;
    shrink.as = next_communicator_++;
    shrunk.push_back(shrink.as);
  }
  add(Kind::recover);
  roots_ = communicators_ = shrunk;
}

void Drawing::add_one() {
  const std::uint64_t drawn = below(1000);
  if (drawn < 420) return add_message(false);
  if (drawn < 800) return add_collective(some_communicator());
  if (drawn < 900) {
    Step& step = add(Kind::wait);
    step.order = among(Order::operations);
    step.some = one_in(2);
    return;
  }
  if (drawn < 940) {
    Step& step = add(Kind::burst);
    step.count = 1 + below(12);
    step.bytes = size() / 2;
    ++operations_;
    return;
  }
  if (drawn < 970) {
    const bool all = static_cast<int>(alive_.size()) == wishes_.ranks;
    if (static_cast<int>(communicators_.size()) < kMaxCommunicators)
      return all && one_in(10) ? add_world() : add_made();
    const int of = communicators_[1 + below(communicators_.size() - 1)];
    if (std::erase(roots_, of) + std::erase(communicators_, of) > 0) add(Kind::free).of = of;
    return;
  }
  if (drawn < 980)
    add(Kind::cancel);
  else if (drawn < 990)
    add(Kind::reserve).count = 1 + below(5);
  else
    add(Kind::agree).of = some_communicator();
  ++operations_;
}

Plan Drawing::plan() {
  plan_.seed = wishes_.seed;
  plan_.ranks = wishes_.ranks;
  for (int each = 0; each < wishes_.ranks; ++each)
    alive_.push_back(each);
  add_world();
  const int ends = std::min(wishes_.ends, wishes_.ranks - 1);
  for (int done = 0; operations_ < wishes_.operations;) {
    if (done < ends && operations_ >= (done + 1) * wishes_.operations / (ends + 1)) {
      add_end();
      ++done;
    } else {
      add_one();
    }
  }
  return std::move(plan_);
}

}  // namespace

std::vector<const char*> algorithms_of(Operation operation, bool commutes) {
  using enum Operation;
  std::vector<const char*> some;
  switch (operation) {
    case barrier:
      return {"recursive-doubling", "dissemination", "dissemination radix 3", "hierarchical",
              "hierarchical radix 4"};
    case bcast:
      return {"flat",
              "chain",
              "chain segment 1K",
              "binary",
              "binary segment 4K",
              "binomial",
              "binomial split 1",
              "binomial segment 700",
              "k-nomial radix 4",
              "sequential",
              "scatter-allgather",
              "hierarchical"};
    case reduce:
      some = {"flat",
              "chain",
              "chain segment 1K",
              "binary",
              "binary segment 4K",
              "binomial",
              "binomial segment 2K",
              "k-nomial radix 3",
              "sequential"};
      if (commutes) some.push_back("hierarchical");
      return some;
    case allreduce:
      some = {"recursive-doubling", "rabenseifner", "reduce-bcast"};
      if (commutes) some.insert(some.end(), {"ring", "ring segment 2K", "hierarchical"});
      return some;
    case gather:
    case scatter:
      return {"flat",       "chain",       "binary", "binomial", "k-nomial radix 4",
              "sequential", "hierarchical"};
    case gatherv:
    case scatterv:
      return {"flat", "sequential"};
    case allgather:
      some = {"hierarchical", "hierarchical-bruck", "hierarchical-ring", "multileader radix 2",
              "multigroup radix 2"};
      [[fallthrough]];
    case allgatherv:
      some.insert(some.end(),
                  {"direct", "ring", "neighbour-exchange", "binomial", "standard-exchange",
                   "standard-exchange radix 4", "bruck", "bruck radix 3", "eager-bruck",
                   "eager-ring", "eager-standard-exchange", "rendezvous-bruck", "rendezvous-ring",
                   "rendezvous-standard-exchange"});
      return some;
    case alltoall:
      return {"flat", "ring", "pairwise", "bruck", "bruck radix 3", "hierarchical"};
    case alltoallv:
      return {"flat", "ring", "pairwise"};
    case reduce_scatter_block:
    case reduce_scatter:
      some = {"pairwise", "reduce-scatter"};
      if (commutes) some.insert(some.end(), {"ring", "recursive-halving"});
      return some;
    case scan:
    case exscan:
      return {"chain", "chain segment 1K", "recursive-doubling"};
  }
  return some;
}

Plan draw(const Wishes& wishes) {
  return Drawing(wishes).plan();
}

}  // namespace strangers
