// Every operation on several types, sizes and forms. The test computes the results as well, in the
// plainest way.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "common/core/text.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

// In elements of 8 bytes: none, one, an odd number. Then more than goes at once on a node and
// between nodes, in parts, and with an agreement first.
constexpr std::size_t kCounts[] = {0, 1, 7, 513, 1027, 2049, 20'001};
// Prepared operations have tags of their own, so the last of these are offloaded between nodes.
constexpr int kRepeats = 5;

// x then y, as functions a * n + b: another order is another function.
struct Affine {
  std::uint64_t a = 1, b = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};
// Sorted by value first, so that minimum and maximum are the plain ones.
struct Placed {
  double value = 0;
  std::int32_t place = 0;
  friend bool operator==(const Placed& x, const Placed& y) {
    return x.value == y.value && x.place == y.place;
  }
};
// The upper half of a float.
struct Brain {
  std::uint16_t bits = 0;
  friend bool operator==(const Brain&, const Brain&) = default;
};
float value_of(Brain brain) {
  return std::bit_cast<float>(std::uint32_t{brain.bits} << 16);
}
Brain brain_of(float value) {
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
}

// Small, so that sums of some ranks are exact in every type.
template <class T>
T value(int rank, std::size_t i) {
  const auto number = (static_cast<std::size_t>(rank) * 7 + i * 3) % 5 + 1;
  if constexpr (std::is_same_v<T, Affine>)
    return {number, i + static_cast<std::size_t>(rank)};
  else if constexpr (std::is_same_v<T, Placed>)
    return {static_cast<double>(number), rank};
  else if constexpr (std::is_same_v<T, Brain>)
    return brain_of(static_cast<float>(number));
  else
    return static_cast<T>(number);
}

template <class T>
Buffer view_of(std::span<T> all) {
  if constexpr (std::is_same_v<T, Placed>)
    return {all.data(), all.size(), sizeof(T), ElementType::float64_index};
  else if constexpr (std::is_same_v<T, Brain>)
    return {all.data(), all.size(), sizeof(T), ElementType::bfloat16};
  else
    return Buffer(all);
}

template <class T>
using Join = std::function<T(T, T)>;

template <class T>
class Operations {
 public:
  using Values = std::vector<T>;

  Operations(Communicator& world, std::size_t count, Reducer reducer, Join<T> join,
             std::string name)
      : world_(world),
        count_(count),
        ranks_(static_cast<std::size_t>(world.size())),
        rank_(static_cast<std::size_t>(world.rank())),
        reducer_(std::move(reducer)),
        join_(std::move(join)),
        name_(std::move(name)) {}

  void reductions() {
    const int root = world_.size() - 1;
    const Values own = values(rank_, 0, count_), empty(count_);
    const Values all = folded(ranks_, 0, count_);
    out_ = empty;
    if (world_.rank() == root) {
      check("reduce", Collective::reduce(in(own), out(), reducer_, root), empty, all);
      check("reduce in place", Collective::reduce(kInPlace, out(), reducer_, root), own, all);
    } else {
      check("reduce", Collective::reduce(in(own), {}, reducer_, root), empty, empty);
      check("reduce in place", Collective::reduce(in(own), {}, reducer_, root), empty, empty);
    }
    check("allreduce", Collective::allreduce(in(own), out(), reducer_), empty, all);
    check("allreduce in place", Collective::allreduce(kInPlace, out(), reducer_), own, all);
    const Values upto = folded(rank_ + 1, 0, count_);
    check("scan", Collective::scan(in(own), out(), reducer_), empty, upto);
    check("scan in place", Collective::scan(kInPlace, out(), reducer_), own, upto);
    // The first rank's output stays as it was.
    const Values before = rank_ == 0 ? empty : folded(rank_, 0, count_);
    check("exscan", Collective::exscan(in(own), out(), reducer_), empty, before);
    const Values much = values(rank_, 0, ranks_ * count_);
    check("reduce_scatter_block", Collective::reduce_scatter_block(in(much), out(), reducer_),
          empty, folded(ranks_, rank_ * count_, count_));
    // Rank r has r parts of the size.
    std::vector<Part> parts;
    std::size_t before_own = 0, total = 0;
    for (std::size_t i = 0; i < ranks_; ++i) {
      parts.push_back({i * (count_ / 2), 0});
      if (i < rank_) before_own += parts.back().count;
      total += parts.back().count;
    }
    const Values uneven = values(rank_, 0, total);
    out_.resize(parts[rank_].count);
    check("reduce_scatter", Collective::reduce_scatter(in(uneven), out(), parts, reducer_),
          Values(out_.size()), folded(ranks_, before_own, out_.size()));
  }

  void moves() {
    const Values own = values(rank_, 0, count_);
    for (int root = 0; root < world_.size(); root += std::max(1, world_.size() - 1)) {
      const bool is_root = world_.rank() == root;
      const auto place = static_cast<std::size_t>(root);
      out_.resize(count_);
      check("bcast", Collective::bcast(out(), root), is_root ? own : Values(count_),
            values(place, 0, count_));
      const Values much = values(place, 0, ranks_ * count_);
      const Values part = values(place, rank_ * count_, count_);
      check("scatter", Collective::scatter(is_root ? in(much) : ConstBuffer(), out(), root),
            Values(count_), part);
      if (is_root)
        check("scatter in place", Collective::scatter(in(much), {}, root), own, own);
      else
        check("scatter in place", Collective::scatter({}, out(), root), Values(count_), part);
    }
    blocks();
    parts();
  }

 private:
  Values values(std::size_t rank, std::size_t first, std::size_t count) const {
    Values all(count);
    for (std::size_t i = 0; i < count; ++i)
      all[i] = value<T>(static_cast<int>(rank), first + i);
    return all;
  }
  Values folded(std::size_t ranks, std::size_t first, std::size_t count) const {
    Values all = values(0, first, count);
    for (std::size_t rank = 1; rank < ranks; ++rank)
      for (std::size_t i = 0; i < count; ++i)
        all[i] = join_(all[i], value<T>(static_cast<int>(rank), first + i));
    return all;
  }
  static ConstBuffer in(const Values& values) {
    // Returns a view of values that are only read.
    const Buffer view =
        view_of(std::span(const_cast<T*>(values.data()), values.size()));  // NOLINT(*-const-cast)
    return view;
  }
  Buffer out() { return view_of(std::span(out_)); }

  void blocks() {
    const int root = world_.size() / 2;
    const Values own = values(rank_, 0, count_), empty(ranks_ * count_);
    Values all, across, standing(empty);
    for (std::size_t other = 0; other < ranks_; ++other) {
      const Values theirs = values(other, 0, count_), mine = values(other, rank_ * count_, count_);
      all.insert(all.end(), theirs.begin(), theirs.end());
      across.insert(across.end(), mine.begin(), mine.end());
    }
    std::ranges::copy(own, standing.begin() + static_cast<std::ptrdiff_t>(rank_ * count_));
    out_ = empty;
    if (world_.rank() == root) {
      check("gather", Collective::gather(in(own), out(), root), empty, all);
      check("gather in place", Collective::gather(kInPlace, out(), root), standing, all);
    } else {
      check("gather", Collective::gather(in(own), {}, root), empty, empty);
      check("gather in place", Collective::gather(in(own), {}, root), empty, empty);
    }
    check("allgather", Collective::allgather(in(own), out()), empty, all);
    check("allgather in place", Collective::allgather(kInPlace, out()), standing, all);
    const Values much = values(rank_, 0, ranks_ * count_);
    check("alltoall", Collective::alltoall(in(much), out()), empty, across);
    check("alltoall in place", Collective::alltoall(kInPlace, out()), much, across);
  }

  // Rank r has r + 1 times the size. The parts are in reverse order of ranks, with gaps.
  void parts() {
    std::vector<Part> parts(ranks_);
    std::size_t room = 1;
    for (std::size_t i = ranks_; i-- > 0;) {
      parts[i] = {(i + 1) * (count_ / 2), room};
      room += parts[i].count + 2;
    }
    const Values own = values(rank_, 0, parts[rank_].count), empty(room);
    Values all(empty);
    for (std::size_t i = 0; i < ranks_; ++i)
      std::ranges::copy(values(i, 0, parts[i].count),
                        all.begin() + static_cast<std::ptrdiff_t>(parts[i].offset));
    out_ = empty;
    check("allgatherv", Collective::allgatherv(in(own), out(), parts), empty, all);
    const bool is_root = rank_ == 0;
    check("gatherv",
          is_root ? Collective::gatherv(in(own), out(), parts, 0)
                  : Collective::gatherv(in(own), {}, {}, 0),
          empty, is_root ? all : empty);
    const Values much = values(rank_, 0, room);
    std::vector<Part> gets(ranks_);
    const std::size_t each = parts[rank_].count;
    Values across(ranks_ * (each + 1));
    for (std::size_t i = 0; i < ranks_; ++i) {
      gets[i] = {each, i * (each + 1)};
      std::ranges::copy(values(i, parts[rank_].offset, each),
                        across.begin() + static_cast<std::ptrdiff_t>(gets[i].offset));
    }
    out_.resize(across.size());
    check("alltoallv", Collective::alltoallv(in(much), parts, out(), gets), Values(across.size()),
          across);
    out_.resize(each);
    check("scatterv",
          is_root ? Collective::scatterv(in(much), parts, out(), 0)
                  : Collective::scatterv({}, {}, out(), 0),
          Values(each), values(0, parts[rank_].offset, each));
  }

  // Runs the operation in all forms, each time from `given`.
  void check(const char* operation, const Collective& collective, const Values& given,
             const Values& expected) {
    const auto ends = [&](const Status& status, const char* form) {
      const std::string what =
          cat(operation, " of ", count_, " ", name_, ", ", form, ", rank ", rank_);
      must(status, what);
      must(out_ == expected, what + ": other values than expected");
      std::ranges::copy(given, out_.begin());
    };
    must(out_.size() == given.size() && out_.size() == expected.size(), "a test of other sizes");
    std::ranges::copy(given, out_.begin());
    ends(world_.run(collective), "at once");
    Request begun = world_.start(collective);
    ends(begun.wait(), "begun");
    Request tested = world_.start(collective);
    while (!tested.test())
      std::this_thread::yield();  // there are more ranks than processors
    ends(tested.wait(), "tested");
    Request prepared = world_.prepare(collective);
    for (int time = 0; time < kRepeats; ++time) {
      must(prepared.start(), operation);
      ends(prepared.wait(), "prepared");
    }
  }

  Communicator& world_;
  std::size_t count_, ranks_, rank_;
  Reducer reducer_;
  Join<T> join_;
  std::string name_;
  Values out_;
};

void then(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    Affine x, y;
    std::memcpy(&x, left + i * sizeof x, sizeof x);
    std::memcpy(&y, right + i * sizeof y, sizeof y);
    const Affine both{x.a * y.a, x.a * y.b + x.b};
    std::memcpy(result + i * sizeof both, &both, sizeof both);
  }
}

template <class T>
void sums(Communicator& world, std::size_t count, const char* name) {
  Operations<T>(
      world, count, ReduceOp::sum, [](T x, T y) { return static_cast<T>(x + y); },
      cat("sums of ", name))
      .reductions();
  Operations<T>(
      world, count, ReduceOp::maximum, [](T x, T y) { return std::max(x, y); },
      cat("maxima of ", name))
      .reductions();
}

void other_types(Communicator& world, std::size_t count) {
  sums<std::int8_t>(world, count, "int8");
  sums<std::uint16_t>(world, count, "uint16");
  sums<float>(world, count, "float");
  sums<long double>(world, count, "long double");
  Operations<std::uint32_t>(world, count, ReduceOp::bit_xor, std::bit_xor<>(), "xor of uint32")
      .reductions();
  Operations<std::uint32_t>(world, count, ReduceOp::product, std::multiplies<>(),
                            "products of uint32")
      .reductions();
  Operations<std::int32_t>(
      world, count, ReduceOp::logical_and, [](int x, int y) { return x != 0 && y != 0 ? 1 : 0; },
      "logical and of int32")
      .reductions();
  Operations<Placed>(
      world, count, ReduceOp::minloc, [](Placed x, Placed y) { return y.value < x.value ? y : x; },
      "minima with places")
      .reductions();
  Operations<Brain>(
      world, count, ReduceOp::sum,
      [](Brain x, Brain y) { return brain_of(value_of(x) + value_of(y)); }, "sums of bfloat16")
      .reductions();
}

}  // namespace

void operations(Communicator& world) {
  must(world.barrier(), "barrier");
  for (const std::size_t count : kCounts) {
    Operations<double> doubles(world, count, ReduceOp::sum, std::plus<>(), "sums of double");
    doubles.reductions();
    doubles.moves();
    Operations<Affine>(
        world, count, Reducer::of(then, false),
        [](Affine x, Affine y) {
          return Affine{x.a * y.a, x.a * y.b + x.b};
        },
        "functions of the program's own, in order")
        .reductions();
  }
  other_types(world, 1);
  other_types(world, 4'099);
}
