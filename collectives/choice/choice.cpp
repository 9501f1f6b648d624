#include "collectives/choice/choice.h"

#include <algorithm>

#include "collectives/algorithms/registry/registry.h"

namespace scela::collectives {

bool can(const Algorithm& algorithm, const Question& question, std::uint32_t radix) {
  if (algorithm.operation != question.operation) return false;
  if (!question.commutes && !algorithm.any_order) return false;
  if (!question.equal && algorithm.equal_blocks) return false;
  Shape shape;
  shape.operation = question.operation;
  shape.ranks = question.ranks;
  shape.root = question.root;
  shape.radix = radix;
  shape.in_place = question.in_place;
  shape.commutes = question.commutes;
  return algorithm.fits == nullptr || algorithm.fits(shape);
}

void Table::put_before(const Table& before) {
  rows_.insert(rows_.begin(), before.rows_.begin(), before.rows_.end());
}

const Row* Table::find(const Question& question) const {
  const auto fits = [&](const Row& row) {
    return row.operation == question.operation &&
           row.ranks.holds(static_cast<std::uint64_t>(question.ranks)) &&
           row.nodes.holds(static_cast<std::uint64_t>(question.nodes)) &&
           row.per_node.holds(
               static_cast<std::uint64_t>(question.ranks / std::max(question.nodes, 1))) &&
           (question.bytes ? row.bytes.holds(*question.bytes) : row.bytes.is_all()) &&
           can(*row.algorithm, question, row.radix);
  };
  const auto found = std::ranges::find_if(rows_, fits);
  return found == rows_.end() ? nullptr : &*found;
}

Choice choice_of(const Row& row, const Question& question) {
  Choice choice{row.algorithm, 1, row.radix, row.split};
  if (row.segment == 0 || !row.algorithm->has_segments) return choice;
  const std::uint64_t bytes = question.bytes.value_or(0);
  const std::uint64_t parts = bytes / row.segment + (bytes % row.segment != 0 ? 1 : 0);
  choice.segments = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, kMaxSegments));
  return choice;
}

}  // namespace scela::collectives
