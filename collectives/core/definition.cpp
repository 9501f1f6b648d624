#include "collectives/core/definition.h"

namespace scela::collectives {
namespace {

bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

}  // namespace

Definition::Definition(const Shape& shape, int rank, std::uint32_t parts)
    : shape_(shape),
      rank_(rank),
      cut_(shape.segments * parts),
      is_root_(has_root(shape.operation) && rank == shape.root),
      in_place_(shape.in_place && shape.operation != Operation::barrier &&
                shape.operation != Operation::bcast && (is_root_ || !has_root(shape.operation))) {}

std::uint32_t Definition::inputs() const {
  const std::uint32_t all = static_cast<std::uint32_t>(shape_.ranks) * cut_;
  switch (shape_.operation) {
    case Operation::barrier:
    case Operation::bcast:
      return 0;
    case Operation::scatter:
      return is_root_ ? all : 0;
    case Operation::alltoall:
    case Operation::reduce_scatter:
      return all;
    default:
      return cut_;
  }
}

std::uint32_t Definition::outputs() const {
  const std::uint32_t all = static_cast<std::uint32_t>(shape_.ranks) * cut_;
  switch (shape_.operation) {
    case Operation::barrier:
      return 0;
    case Operation::reduce:
      return is_root_ ? cut_ : 0;
    case Operation::gather:
      return is_root_ ? all : 0;
    case Operation::allgather:
    case Operation::alltoall:
      return all;
    case Operation::reduce_scatter:
      return in_place_ ? all : cut_;
    default:
      return cut_;
  }
}

bool Definition::may_write(Space space) const {
  if (space == Space::input) return false;
  return space == Space::scratch || shape_.operation != Operation::bcast || !is_root_;
}

std::optional<std::uint32_t> Definition::stands(Space space, std::uint32_t block) const {
  const bool input_stays = !in_place_ || shape_.operation == Operation::scatter;
  if (space == Space::input) {
    if (!input_stays || block >= inputs()) return {};
    return block;
  }
  if (space == Space::scratch || block >= outputs()) return {};
  if (shape_.operation == Operation::bcast && is_root_) return block;
  if (input_stays) return {};
  // In gathering operations a contribution stands at its place in the whole; in all others it
  // stands as in the input.
  if (shape_.operation != Operation::gather && shape_.operation != Operation::allgather) {
    return block;
  }
  if (block / cut_ != static_cast<std::uint32_t>(rank_)) return {};
  return block % cut_;
}

std::optional<Sum> Definition::result(std::uint32_t block) const {
  if (block >= outputs()) return {};
  const std::uint32_t own = static_cast<std::uint32_t>(rank_) * cut_;
  const int last = shape_.ranks - 1;
  const int from = static_cast<int>(block / cut_);
  switch (shape_.operation) {
    case Operation::barrier:
      return {};
    case Operation::bcast:
      return Sum{shape_.root, shape_.root, block};
    case Operation::scatter:
      if (in_place_) return {};
      return Sum{shape_.root, shape_.root, own + block};
    case Operation::gather:
    case Operation::allgather:
      return Sum{from, from, block % cut_};
    case Operation::alltoall:
      return Sum{from, from, own + block % cut_};
    case Operation::reduce:
    case Operation::allreduce:
      return Sum{0, last, block};
    case Operation::reduce_scatter:
      if (block >= cut_) return {};
      return Sum{0, last, own + block};
    case Operation::scan:
      return Sum{0, rank_, block};
    case Operation::exscan:
      if (rank_ == 0) return {};  // rank 0's result is undefined
      return Sum{0, rank_ - 1, block};
  }
  return {};
}

}  // namespace scela::collectives
