#include "tests/support/collective_case.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/algorithms/scratch.h"
#include "collectives/core/definition.h"
#include "common/core/text.h"

namespace scela::collectives::test {

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kElement = 4;
constexpr std::byte kUntouched{0xA5};

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::reduce_scatter || operation == Operation::scan ||
         operation == Operation::exscan;
}
bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}
bool is_by_rank(Operation operation) {
  return operation == Operation::gather || operation == Operation::scatter ||
         operation == Operation::allgather || operation == Operation::reduce_scatter;
}

// Adds numbers of 32 bits.
void add(const void*, const std::byte* left, const std::byte* right, std::byte* result,
         std::size_t elements) {
  for (std::size_t i = 0; i < elements * kElement; i += kElement) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, left + i, kElement);
    std::memcpy(&b, right + i, kElement);
    a += b;
    std::memcpy(result + i, &a, kElement);
  }
}

// Multiplies matrices of 2 x 2 numbers modulo 256. Any bracket is right, any other order is not.
void multiply(const void*, const std::byte* left, const std::byte* right, std::byte* result,
              std::size_t elements) {
  for (std::size_t i = 0; i < elements * kElement; i += kElement) {
    const auto at = [i](const std::byte* matrix, std::size_t place) {
      return std::to_integer<unsigned>(matrix[i + place]);
    };
    Bytes product(kElement);
    for (const std::size_t row : {0u, 2u})
      for (const std::size_t column : {0u, 1u})
        product[row + column] = static_cast<std::byte>(at(left, row) * at(right, column) +
                                                       at(left, row + 1) * at(right, 2 + column));
    std::memcpy(result + i, product.data(), kElement);
  }
}

Reduction reduction_of(const Shape& shape) {
  if (!reduces(shape.operation)) return {};
  if (!shape.commutes) return {multiply, nullptr, kElement};
  return {add, nullptr, kElement, Calculation{Calculation::Op::sum, Calculation::Type::uint32}};
}

// Returns what rank `rank` contributes, at byte `at`. Matrices are odd on the diagonal and even
// beside it, so that no product is zero.
std::byte content(std::uint64_t seed, int rank, std::uint64_t at) {
  const std::uint64_t mixed =
      (seed + static_cast<std::uint64_t>(rank) * 0x9e37u + at * 0x85ebca6bu) * 0xc2b2ae3d27d4eb4fu;
  const auto byte = static_cast<std::uint8_t>(mixed >> 33);
  const bool diagonal = at % 4 == 0 || at % 4 == 3;
  return static_cast<std::byte>(diagonal ? byte | 1u : byte & ~1u);
}

BlockSizes placed(const std::vector<std::uint64_t>& sizes, bool spread) {
  if (!spread) return BlockSizes::packed(sizes);
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const std::uint64_t size : sizes) {
    offsets.push_back(end);
    end += size + 2 * kElement;
  }
  return BlockSizes::placed(std::move(offsets), sizes);
}

std::uint64_t sum(const std::vector<std::uint64_t>& sizes, std::size_t first, std::size_t count) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                         sizes.begin() + static_cast<std::ptrdiff_t>(first + count),
                         std::uint64_t{0});
}

}  // namespace

std::string text(const Case& one) {
  const Shape& shape = one.shape;
  std::string out =
      cat(name_of(shape.operation), " by ", one.algorithm->name, ", ", shape.ranks, " ranks, root ",
          shape.root, ", segments ", shape.segments, ", radix ", shape.radix, ", split ",
          shape.split, ", nodes ", shape.nodes == nullptr ? 1 : shape.nodes->nodes(),
          shape.in_place ? ", in place" : "", shape.commutes ? "" : ", in order",
          one.spread ? ", spread" : "", ", sizes");
  for (std::size_t i = 0; i < std::min<std::size_t>(one.sizes.size(), 8); ++i)
    out += cat(" ", one.sizes[i]);
  return out;
}

Guarded::Guarded(std::uint64_t bytes)
    : bytes_(bytes + 2 * kGuard, kUntouched), any_(bytes + 2 * kGuard, false) {}

void Guarded::put(const BlockSizes& sizes, std::uint32_t block, const Bytes& bytes) {
  if (!bytes.empty()) std::memcpy(data() + sizes.offset(block), bytes.data(), bytes.size());
}

void Guarded::ignore(const BlockSizes& sizes, std::uint32_t block) {
  for (std::uint64_t i = 0; i < sizes.size(block); ++i)
    any_[kGuard + sizes.offset(block) + i] = true;
}

std::int64_t Guarded::differs(const Guarded& other) const {
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (bytes_[i] != other.bytes_[i] && !any_[i])
      return static_cast<std::int64_t>(i) - static_cast<std::int64_t>(kGuard);
  return std::int64_t{-1} - static_cast<std::int64_t>(kGuard);
}

Member::Member(const Case& one, int rank, std::uint64_t seed)
    : case_(one), rank_(rank), seed_(seed) {
  const Shape& shape = case_.shape;
  const std::uint32_t parts = case_.algorithm->parts == nullptr ? 1 : case_.algorithm->parts(shape);
  cut_ = shape.segments * parts;
  const Definition definition(shape, rank, parts);
  in_place_ = definition.is_in_place();
  TaskList list = case_.algorithm->build(shape, rank);

  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::uint64_t> in_all = case_.sizes;
  std::vector<std::uint64_t> out_all = case_.sizes;
  if (shape.operation == Operation::alltoall) {
    in_all.clear();
    out_all.clear();
    for (std::size_t other = 0; other < ranks; ++other) {
      in_all.push_back(case_.sizes[own * ranks + other]);
      out_all.push_back(case_.sizes[other * ranks + own]);
    }
  }
  const std::uint64_t unit = reduces(shape.operation) ? kElement : 1;
  const auto whole = [&](std::uint32_t blocks, const std::vector<std::uint64_t>& all) {
    const std::size_t count = blocks / cut_;
    if (count == all.size()) return placed(all, case_.spread);
    if (count == 0) return BlockSizes();
    return placed({all[is_by_rank(shape.operation) ? own : 0]}, case_.spread);
  };
  input_whole_ = whole(definition.inputs(), in_all);
  output_whole_ = whole(definition.outputs(), out_all);
  layout_.spaces[0] = BlockSizes::segmented(input_whole_, cut_, unit);
  layout_.spaces[1] = BlockSizes::segmented(output_whole_, cut_, unit);
  const BlockSizes of_scratch = BlockSizes::segmented(BlockSizes::packed(in_all), cut_, unit);
  std::vector<std::uint64_t> scratch;
  for (std::uint32_t block = 0; block < list.blocks[2]; ++block)
    scratch.push_back(of_scratch.size(like(shape, rank, cut_, block)));
  layout_.spaces[2] = BlockSizes::packed(scratch);

  if (auto plan = Plan::of(std::move(list))) plan_ = *plan;
  input_ = Guarded(input_whole_.end());
  output_ = Guarded(output_whole_.end());
  give();
  input_expected_ = input_;
  output_expected_ = output_;
  expect();
}

// Returns bytes of the contribution of rank `rank`.
static Bytes contribution(std::uint64_t seed, int rank, std::uint64_t begin, std::uint64_t bytes) {
  Bytes out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i)
    out[i] = content(seed, rank, begin + i);
  return out;
}

void Member::give() {
  const Shape& shape = case_.shape;
  const bool stays_in_input = !in_place_ || shape.operation == Operation::scatter;
  const bool root_sends = shape.operation == Operation::bcast && rank_ == shape.root;
  if (!stays_in_input || root_sends) {
    const bool one_place =
        shape.operation == Operation::gather || shape.operation == Operation::allgather;
    std::uint64_t begin = 0;
    for (std::uint32_t block = 0; block < output_whole_.count(); ++block) {
      if (one_place && block != static_cast<std::uint32_t>(rank_)) continue;
      output_.put(output_whole_, block,
                  contribution(seed_, rank_, begin, output_whole_.size(block)));
      begin += output_whole_.size(block);
    }
    return;
  }
  std::uint64_t begin = 0;
  for (std::uint32_t block = 0; block < input_whole_.count(); ++block) {
    input_.put(input_whole_, block, contribution(seed_, rank_, begin, input_whole_.size(block)));
    begin += input_whole_.size(block);
  }
}

// Returns x0 op ... op x(last), for these bytes of the contributions.
Bytes Member::folded(int last, std::uint64_t begin, std::uint64_t bytes) const {
  Bytes out = contribution(seed_, 0, begin, bytes);
  const Reduction reduction = reduction_of(case_.shape);
  for (int rank = 1; rank <= last; ++rank) {
    const Bytes right = contribution(seed_, rank, begin, bytes);
    reduction.combine(nullptr, out.data(), right.data(), out.data(), bytes / kElement);
  }
  return out;
}

void Member::expect() {
  const Shape& shape = case_.shape;
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const auto own = static_cast<std::size_t>(rank_);
  const auto put = [&](std::uint32_t block, const Bytes& bytes) {
    output_expected_.put(output_whole_, block, bytes);
  };
  if (output_whole_.count() == 0) return;
  switch (shape.operation) {
    case Operation::barrier:
      return;
    case Operation::bcast:
      return put(0, contribution(seed_, shape.root, 0, case_.sizes[0]));
    case Operation::reduce:
    case Operation::allreduce:
      return put(0, folded(shape.ranks - 1, 0, case_.sizes[0]));
    case Operation::scan:
      return put(0, folded(rank_, 0, case_.sizes[0]));
    case Operation::exscan:
      if (rank_ == 0) return output_expected_.ignore(output_whole_, 0);
      return put(0, folded(rank_ - 1, 0, case_.sizes[0]));
    case Operation::gather:
    case Operation::allgather:
      for (std::uint32_t block = 0; block < ranks; ++block)
        put(block, contribution(seed_, static_cast<int>(block), 0, case_.sizes[block]));
      return;
    case Operation::scatter:
      if (in_place_) return output_expected_.ignore(output_whole_, 0);
      return put(0, contribution(seed_, shape.root, sum(case_.sizes, 0, own), case_.sizes[own]));
    case Operation::alltoall:
      for (std::uint32_t block = 0; block < ranks; ++block)
        put(block,
            contribution(seed_, static_cast<int>(block), sum(case_.sizes, block * ranks, own),
                         case_.sizes[block * ranks + own]));
      return;
    case Operation::reduce_scatter:
      for (std::uint32_t block = 1; block < output_whole_.count(); ++block)
        output_expected_.ignore(output_whole_, block);
      return put(0, folded(shape.ranks - 1, sum(case_.sizes, 0, own), case_.sizes[own]));
  }
}

Call Member::call(Route route) const {
  Call call;
  call.plan = plan_;
  call.layout = &layout_;
  call.input = input_.data();
  call.output = output_.data();
  call.reduction = reduction_of(case_.shape);
  call.route = route;
  call.rank = rank_;
  return call;
}

std::string Member::wrong() const {
  const std::int64_t none = Guarded().differs(Guarded());
  const std::int64_t input = input_expected_.differs(input_);
  if (input != none) return cat(text(case_), ": rank ", rank_, ": input byte ", input);
  const std::int64_t output = output_expected_.differs(output_);
  if (output != none) return cat(text(case_), ": rank ", rank_, ": output byte ", output);
  return {};
}

// ---- which cases ----

namespace {

// Returns the index-th kind of sizes.
std::vector<std::uint64_t> sizes_of(const Shape& shape, std::uint64_t index) {
  const std::uint64_t unit = reduces(shape.operation) ? kElement : 1;
  constexpr std::uint64_t kEqual[] = {0, 1, 6, 13, 500};
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t count = shape.operation == Operation::alltoall ? ranks * ranks
                            : is_by_rank(shape.operation)          ? ranks
                                                                   : 1;
  if (index < std::size(kEqual)) return std::vector<std::uint64_t>(count, kEqual[index] * unit);
  // The sizes are unequal, and some are empty. Blocks that two ranks exchange in place have one
  // size.
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i / ranks;
    const std::size_t to = i % ranks;
    const std::uint64_t size =
        shape.operation == Operation::alltoall && shape.in_place ? from + to : from * 3 + to;
    sizes.push_back((size * 7 + index) % 31 * unit);
  }
  return sizes;
}

bool may_be_unequal(const Algorithm& algorithm, const Shape& shape) {
  if (algorithm.equal_blocks) return false;
  return shape.operation != Operation::reduce_scatter || !shape.in_place;
}

// Returns ranks on up to four nodes. The nodes have any sizes, and their ranks need not follow each
// other.
std::shared_ptr<const NodeMap> nodes_of(int ranks, std::uint64_t random) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(rank) + random) * 0x9e3779b97f4a7c15u;
    const bool in_turn = random % 2 != 0;
    nodes.push_back(in_turn ? rank * 4 / ranks : static_cast<int>(mixed >> 62));
  }
  return std::make_shared<const NodeMap>(nodes);
}

class Chooser {
 public:
  Chooser(std::vector<Case>& cases, int ranks, std::uint64_t turn)
      : cases_(cases), ranks_(ranks), turn_(turn) {}

  void take(const Algorithm& algorithm) {
    const Operation operation = algorithm.operation;
    for (const bool commutes : {true, false}) {
      if (!commutes && (!reduces(operation) || !algorithm.any_order)) continue;
      for (const bool in_place : {false, true}) {
        if (in_place && (operation == Operation::barrier || operation == Operation::bcast))
          continue;
        for (const int root : {0, ranks_ / 2, ranks_ - 1}) {
          if (root != 0 && !has_root(operation)) continue;
          Shape shape;
          shape.operation = operation;
          shape.ranks = ranks_;
          shape.root = root;
          shape.in_place = in_place;
          shape.commutes = commutes;
          shape.segments = algorithm.has_segments && next() % 2 != 0 ? 3 : 1;
          shape.radix = algorithm.has_radix ? 2 + static_cast<std::uint32_t>(next() % 3) : 2;
          if (algorithm.has_split) shape.split = static_cast<std::uint32_t>(next() % 4);
          if (algorithm.has_nodes) shape.nodes = nodes_of(ranks_, next());
          if (algorithm.fits != nullptr && !algorithm.fits(shape)) continue;
          add(algorithm, shape);
        }
      }
    }
  }

 private:
  void add(const Algorithm& algorithm, const Shape& shape) {
    const std::uint64_t kinds = may_be_unequal(algorithm, shape) ? 7 : 5;
    for (int i = 0; i < 2; ++i)
      cases_.push_back({&algorithm, shape, sizes_of(shape, next() % kinds), next() % 3 == 0});
  }
  // Returns another number for each place and turn.
  std::uint64_t next() {
    state_ = (state_ + turn_ * 0x2545f491u + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return state_ >> 35;
  }

  std::vector<Case>& cases_;
  int ranks_;
  std::uint64_t turn_;
  std::uint64_t state_ = 1;
};

}  // namespace

std::vector<Case> cases(int ranks, std::uint64_t turn) {
  std::vector<Case> out;
  Chooser chooser(out, ranks, turn);
  for (const Algorithm& algorithm : algorithms())
    chooser.take(algorithm);
  return out;
}

std::vector<Case> long_cases(int ranks, std::uint32_t segments) {
  std::vector<Case> out;
  for (const Algorithm& algorithm : algorithms()) {
    Shape shape;
    shape.operation = algorithm.operation;
    shape.ranks = ranks;
    if (algorithm.has_segments) shape.segments = segments;
    if (algorithm.has_nodes) shape.nodes = nodes_of(ranks, 1);
    for (const int root : {0, ranks - 1}) {
      if (root != 0 && !has_root(algorithm.operation)) continue;
      shape.root = root;
      if (algorithm.fits != nullptr && !algorithm.fits(shape)) continue;
      // Each segment has a few bytes, and there is an odd rest.
      const std::uint64_t bytes = (segments * 3 + 2) * kElement;
      std::vector<std::uint64_t> sizes = sizes_of(shape, 0);
      std::ranges::fill(sizes, bytes);
      out.push_back({&algorithm, shape, std::move(sizes), false});
    }
  }
  return out;
}

}  // namespace scela::collectives::test
