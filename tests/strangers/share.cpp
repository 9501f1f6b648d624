#include "tests/strangers/share.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace strangers {
namespace {

using scela::Collective;
using scela::ConstBuffer;
using scela::Part;

// Returns true for algorithms that go by nodes, of which there must be several.
bool goes_by_nodes(const std::string& algorithm) {
  return algorithm.starts_with("hierarchical") || algorithm.starts_with("multi");
}

// Elements that are only moved need not be aligned.
std::size_t shift_of(const Step& step, std::uint64_t drawn) {
  return alignment_of(step.type) == 1 ? drawn % 8 : 0;
}

bool has_parts(Operation operation) {
  return operation >= Operation::gatherv;
}

}  // namespace

Share::Share(const Step& step, const Group& group, int rank, int nodes)
    : step_(step),
      group_(group),
      place_(place_in(group, rank)),
      root_(step.root % static_cast<int>(group.size())),
      at_root_(place_ == root_),
      in_place_(step.in_place),
      element_(size_of(step.type)),
      algorithm_(goes_by_nodes(step.algorithm) && nodes < 2 ? "" : step.algorithm) {
  if (has_parts(step.operation))
    shape_of_parts();
  else
    shape();
  if (in_place_) input_elements_ = 0;
  if (!gives_output_) output_elements_ = 0;
  if (!gives_input_) input_elements_ = 0;
  input_ = Buffer(input_elements_ * element_, shift_of(step, mix(step.number, 1)));
  output_ = Buffer(output_elements_ * element_, shift_of(step, mix(step.number, 2)));
}

std::uint64_t Share::key(int round) const {
  return mix(step_.number, static_cast<std::uint64_t>(round), 77);
}

std::size_t Share::most(int from, int to) const {
  const std::uint64_t drawn =
      mix(step_.number, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
  return drawn % 4 == 0 ? 0 : static_cast<std::size_t>((drawn >> 8) % (step_.count + 1));
}

// Places the parts in any order, with gaps or without.
Share::Spread Share::spread(const std::vector<std::size_t>& counts, std::uint64_t key) const {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool in_order = key % 3 == 0, close = key % 3 == 1;
  if (!in_order)
    std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
      return mix(key, left) < mix(key, right);
    });
  Spread made;
  made.parts.resize(counts.size());
  for (const std::size_t each : order) {
    if (!in_order && !close) made.elements += mix(key, each, 9) % 4;
    made.parts[each] = {counts[each], made.elements};
    made.elements += counts[each];
  }
  return made;
}

void Share::shape() {
  const std::size_t block = step_.count, all = block * group_.size();
  input_elements_ = output_elements_ = block;
  switch (step_.operation) {
    case Operation::barrier:
      input_elements_ = output_elements_ = 0;
      break;
    case Operation::bcast:
      gives_input_ = in_place_ = false;
      break;
    case Operation::reduce:
      in_place_ = in_place_ && at_root_;
      gives_output_ = at_root_;
      break;
    case Operation::gather:
      in_place_ = in_place_ && at_root_;
      gives_output_ = at_root_;
      output_elements_ = all;
      break;
    case Operation::scatter:  // in place the root gives no output
      gives_output_ = !(in_place_ && at_root_);
      in_place_ = false;
      gives_input_ = at_root_;
      input_elements_ = all;
      break;
    case Operation::allgather:
      output_elements_ = all;
      break;
    case Operation::alltoall:
      input_elements_ = output_elements_ = all;
      break;
    case Operation::reduce_scatter_block:
      input_elements_ = all;
      if (in_place_) output_elements_ = all;
      break;
    default:
      break;
  }
  checked_elements_ = gives_output_ ? output_elements_ : 0;
  if (step_.operation == Operation::reduce_scatter_block) checked_elements_ = block;
  // The contents of the output afterwards are not specified.
  if (step_.operation == Operation::exscan && place_ == 0) checked_elements_ = 0;
}

void Share::shape_of_parts() {
  const int ranks = static_cast<int>(group_.size());
  std::vector<std::size_t> counts, sent, got;
  for (int each = 0; each < ranks; ++each) {
    counts.push_back(most(each, 0));
    sent.push_back(most(place_, each));
    got.push_back(most(each, place_));
  }
  const std::size_t own = counts[static_cast<std::size_t>(place_)];
  const std::uint64_t drawn = mix(step_.number, 5),
                      by_rank = mix(drawn, static_cast<std::uint64_t>(place_));
  switch (step_.operation) {
    case Operation::gatherv:
    case Operation::allgatherv: {
      const bool to_all = step_.operation == Operation::allgatherv;
      in_place_ = in_place_ && (to_all || at_root_);
      gives_output_ = to_all || at_root_;
      input_elements_ = own;
      if (gives_output_) output_parts_ = spread(counts, drawn);
      output_elements_ = output_parts_.elements;
      break;
    }
    case Operation::scatterv:
      gives_output_ = !(in_place_ && at_root_);
      in_place_ = false;
      gives_input_ = at_root_;
      if (at_root_) input_parts_ = spread(counts, drawn);
      input_elements_ = input_parts_.elements;
      output_elements_ = own;
      break;
    case Operation::alltoallv:
      in_place_ = false;
      input_parts_ = spread(sent, by_rank);
      output_parts_ = spread(got, mix(by_rank, 1));
      input_elements_ = input_parts_.elements;
      output_elements_ = output_parts_.elements;
      break;
    default:  // reduce_scatter
      in_place_ = false;
      input_parts_ = spread(counts, 0);
      input_elements_ = input_parts_.elements;
      output_elements_ = own;
  }
  checked_elements_ = gives_output_ ? output_elements_ : 0;
}

void Share::give(Bytes& to, std::size_t at, int source, std::uint64_t first,
                 std::size_t count) const {
  const std::span bytes = std::span(to).subspan(at * element_, count * element_);
  const int rank = group_[static_cast<std::size_t>(source)];
  if (reduces(step_.operation))
    Elements(step_.type, step_.reduction, key(round_)).write(bytes, rank, first);
  else
    strangers::fill(bytes, mix(key(round_), static_cast<std::uint64_t>(rank)), first * element_);
}

void Share::expect_reduced(std::size_t at, std::size_t sources, std::uint64_t first,
                           std::size_t count) {
  Elements(step_.type, step_.reduction, key(round_))
      .write_reduced(std::span(after_).subspan(at * element_, count * element_),
                     std::span(group_).first(sources), first);
}

void Share::fill(int round) {
  round_ = round;
  given_.assign(input_elements_ * element_, std::byte{});
  strangers::fill(given_, mix(key(round), 1));
  before_.assign(output_elements_ * element_, std::byte{});
  strangers::fill(before_, mix(key(round), 2));
  after_ = before_;
  if (has_parts(step_.operation))
    fill_parts();
  else if (reduces(step_.operation))
    fill_reductions();
  else
    fill_blocks();
  std::ranges::copy(given_, input_.bytes().begin());
  std::ranges::copy(before_, output_.bytes().begin());
}

void Share::fill_blocks() {
  const std::size_t block = step_.count, ranks = group_.size(),
                    here = static_cast<std::size_t>(place_);
  switch (step_.operation) {
    case Operation::bcast:
      if (at_root_) give(before_, 0, root_, 0, block);
      give(after_, 0, root_, 0, block);
      break;
    case Operation::gather:
    case Operation::allgather:
      if (in_place_)
        give(before_, here * block, place_, 0, block);
      else
        give(given_, 0, place_, 0, block);
      for (std::size_t each = 0; gives_output_ && each < ranks; ++each)
        give(after_, each * block, static_cast<int>(each), 0, block);
      break;
    case Operation::scatter:
      if (at_root_) give(given_, 0, root_, 0, block * ranks);
      if (gives_output_) give(after_, 0, root_, here * block, block);
      break;
    case Operation::alltoall:
      give(in_place_ ? before_ : given_, 0, place_, 0, block * ranks);
      for (std::size_t each = 0; each < ranks; ++each)
        give(after_, each * block, static_cast<int>(each), here * block, block);
      break;
    default:
      break;
  }
}

void Share::fill_reductions() {
  const std::size_t block = step_.count, here = static_cast<std::size_t>(place_);
  const bool scatters = step_.operation == Operation::reduce_scatter_block;
  give(in_place_ ? before_ : given_, 0, place_, 0, scatters ? block * group_.size() : block);
  std::size_t sources = group_.size();
  if (step_.operation == Operation::scan) sources = here + 1;
  if (step_.operation == Operation::exscan) sources = here;
  if (gives_output_ && sources > 0) expect_reduced(0, sources, scatters ? here * block : 0, block);
}

void Share::fill_parts() {
  // A part of an input is the elements that follow `step_.count` times its rank.
  const auto first = [&](std::size_t rank) {
    return static_cast<std::uint64_t>(rank) * step_.count;
  };
  const std::size_t ranks = group_.size(), here = static_cast<std::size_t>(place_);
  if (step_.operation == Operation::reduce_scatter) {
    for (std::size_t each = 0; each < ranks; ++each)
      give(given_, input_parts_.parts[each].offset, place_, first(each),
           input_parts_.parts[each].count);
    return expect_reduced(0, ranks, first(here), output_elements_);
  }
  for (std::size_t each = 0; each < input_parts_.parts.size(); ++each) {
    const Part part = input_parts_.parts[each];
    give(given_, part.offset, place_, first(each), part.count);
  }
  if (step_.operation == Operation::scatterv) {
    if (gives_output_) give(after_, 0, root_, first(here), output_elements_);
    return;
  }
  const bool to_each = step_.operation == Operation::alltoallv;
  if (!to_each && !in_place_) give(given_, 0, place_, 0, input_elements_);
  for (std::size_t each = 0; each < output_parts_.parts.size(); ++each) {
    const Part part = output_parts_.parts[each];
    give(after_, part.offset, static_cast<int>(each), to_each ? first(here) : 0, part.count);
    if (in_place_ && each == here) give(before_, part.offset, place_, 0, part.count);
  }
}

Collective Share::collective() {
  const scela::Buffer output =
      gives_output_ ? scela::Buffer(output_.bytes().data(), output_elements_, element_, step_.type)
                    : scela::Buffer();
  ConstBuffer input =
      gives_input_ ? ConstBuffer(input_.bytes().data(), input_elements_, element_, step_.type)
                   : ConstBuffer();
  if (in_place_) input = scela::kInPlace;
  const scela::Reducer reducer = reducer_of(step_.reduction);
  const auto made = [&] {
    switch (step_.operation) {
      case Operation::barrier:
        return Collective::barrier();
      case Operation::bcast:
        return Collective::bcast(output, root_);
      case Operation::reduce:
        return Collective::reduce(input, output, reducer, root_);
      case Operation::allreduce:
        return Collective::allreduce(input, output, reducer);
      case Operation::gather:
        return Collective::gather(input, output, root_);
      case Operation::scatter:
        return Collective::scatter(input, output, root_);
      case Operation::allgather:
        return Collective::allgather(input, output);
      case Operation::alltoall:
        return Collective::alltoall(input, output);
      case Operation::reduce_scatter_block:
        return Collective::reduce_scatter_block(input, output, reducer);
      case Operation::scan:
        return Collective::scan(input, output, reducer);
      case Operation::exscan:
        return Collective::exscan(input, output, reducer);
      case Operation::gatherv:
        return Collective::gatherv(input, output, output_parts_.parts, root_);
      case Operation::scatterv:
        return Collective::scatterv(input, input_parts_.parts, output, root_);
      case Operation::allgatherv:
        return Collective::allgatherv(input, output, output_parts_.parts);
      case Operation::alltoallv:
        return Collective::alltoallv(input, input_parts_.parts, output, output_parts_.parts);
      case Operation::reduce_scatter:
        break;
    }
    return Collective::reduce_scatter(input, output, input_parts_.parts, reducer);
  }();
  Collective collective = made;
  if (!algorithm_.empty()) collective.algorithm(algorithm_);
  return collective;
}

std::optional<std::string> Share::wrong_element() const {
  const std::span<const std::byte> is = output_.bytes();
  if (!reduces(step_.operation)) return difference(is, after_);
  for (const Extent& extent : extents_of(step_.type))
    for (std::size_t i = 0; i < checked_elements_; ++i) {
      const std::size_t at = i * element_ + extent.from;
      if (std::memcmp(is.data() + at, after_.data() + at, extent.to - extent.from) == 0) continue;
      const auto found =
          difference(is.subspan(at, extent.to - extent.from), std::span(after_).subspan(at));
      return "element " + std::to_string(i) + ": " + *found;
    }
  return std::nullopt;
}

std::optional<std::string> Share::wrong() const {
  if (const auto found = difference(input_.bytes(), given_))
    return "its input was changed: " + *found;
  if (const auto found = wrong_element()) return "its output: " + *found;
  if (const auto found = input_.damage()) return "its input: " + *found;
  if (const auto found = output_.damage()) return "its output: " + *found;
  return std::nullopt;
}

}  // namespace strangers
