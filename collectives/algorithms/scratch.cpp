#include "collectives/algorithms/scratch.h"

namespace scela::collectives {

std::uint32_t like(const Shape& shape, int rank, std::uint32_t cut, std::uint32_t block) {
  switch (shape.operation) {
    case Operation::gather:
    case Operation::scatter:
    case Operation::allgather:
    case Operation::alltoall: {
      const std::uint64_t first = std::uint64_t{static_cast<std::uint32_t>(rank)} * cut;
      const std::uint64_t all = std::uint64_t{static_cast<std::uint32_t>(shape.ranks)} * cut;
      return static_cast<std::uint32_t>((first + block) % all);
    }
    case Operation::reduce_scatter:
      return block % (static_cast<std::uint32_t>(shape.ranks) * cut);
    case Operation::barrier:
    case Operation::bcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
      return block % cut;
  }
  return block;
}

}  // namespace scela::collectives
