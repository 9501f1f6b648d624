#include "collectives/core/analysis/connection_count.h"

namespace scela::collectives {

Census::Census(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

void Census::add(int rank, const TaskList& list) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  for (const Task& task : list.tasks) {
    if (task.kind == Kind::send) own.to.insert(task.peer);
    if (task.kind == Kind::receive) own.from.insert(task.peer);
  }
}

std::set<int> Census::peers(int rank) const {
  std::set<int> found = at(rank).to;
  found.insert(at(rank).from.begin(), at(rank).from.end());
  return found;
}

std::set<int> Census::peers_off_node(int rank, const NodeMap& nodes) const {
  std::set<int> found = peers(rank);
  std::erase_if(found, [&](int peer) { return nodes.of(peer) == nodes.of(rank); });
  return found;
}

}  // namespace scela::collectives
