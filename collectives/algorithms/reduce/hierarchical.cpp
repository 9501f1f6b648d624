// The hierarchical broadcast (../bcast/hierarchical.cpp) backwards: a node's contributions come
// first. A node's ranks need not follow each other, so operands change places.
#include <utility>
#include <vector>

#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/reduce/collect.h"
#include "collectives/algorithms/reduce/reduce.h"

namespace scela::collectives {

TaskList reduce_hierarchical(const Shape& shape, int rank) {
  const Branch own = branch(Hierarchy(shape, shape.root), shape.root, rank);
  const bool is_root = rank == shape.root;
  std::vector<Collected> sources;
  for (auto child = own.children.rbegin(); child != own.children.rend(); ++child)
    sources.push_back({*child, false});
  const Space given = is_root && shape.in_place ? Space::output : Space::input;
  const Space result = is_root ? Space::output : sources.empty() ? given : Space::scratch;
  Writer list;
  Collector collector(list, std::move(sources), given, result, shape.segments);
  for (std::uint32_t segment = 0; segment < shape.segments; ++segment) {
    collector.collect(segment);
    if (!is_root) list.send(own.parent, collector.result(segment));
  }
  return list.done(given == Space::output ? 0 : shape.segments, is_root ? shape.segments : 0,
                   collector.scratch_blocks());
}

}  // namespace scela::collectives
