#include "collectives/core/shape.h"

#include <array>

namespace scela::collectives {

namespace {

// Indexed by Operation.
constexpr std::array<std::string_view, 11> kNames = {
    "barrier",   "bcast",    "reduce",         "allreduce", "gather", "scatter",
    "allgather", "alltoall", "reduce_scatter", "scan",      "exscan"};

}  // namespace

std::string_view name_of(Operation operation) {
  return kNames.at(static_cast<std::size_t>(operation));
}

std::optional<Operation> operation_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<Operation>(i);
  }
  return std::nullopt;
}

}  // namespace scela::collectives
