#include "collectives/choice/needs.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "collectives/core/analysis/connection_count.h"

namespace scela::collectives {

namespace {

bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

std::shared_ptr<const NodeMap> nodes_of(const Question& question) {
  const int each = (question.ranks + question.nodes - 1) / question.nodes;
  std::vector<int> by_rank;
  for (int rank = 0; rank < question.ranks; ++rank)
    by_rank.push_back(rank / each);
  return std::make_shared<const NodeMap>(by_rank);
}

}  // namespace

Needs needs_of(const Row& row, const Question& question) {
  Shape shape;
  shape.operation = question.operation;
  shape.ranks = question.ranks;
  shape.radix = row.radix;
  shape.split = row.split;
  shape.in_place = question.in_place;
  shape.commutes = question.commutes;
  shape.nodes = nodes_of(question);
  Needs needs;
  Census census(question.ranks);
  const int roots = has_root(question.operation) ? question.ranks : 1;
  for (shape.root = 0; shape.root < roots; ++shape.root)
    for (int rank = 0; rank < question.ranks; ++rank) {
      const TaskList list = row.algorithm->build(shape, rank);
      needs.max_tasks = std::max(needs.max_tasks, static_cast<std::uint32_t>(list.tasks.size()));
      census.add(rank, list);
    }
  for (int rank = 0; rank < question.ranks; ++rank) {
    const auto peers = static_cast<std::uint32_t>(census.peers(rank).size());
    const auto off = static_cast<std::uint32_t>(census.peers_off_node(rank, *shape.nodes).size());
    needs.peers += static_cast<double>(peers) / question.ranks;
    needs.max_peers = std::max(needs.max_peers, peers);
    needs.max_peers_off_node = std::max(needs.max_peers_off_node, off);
    needs.ranks_off_node += off > 0 ? 1 : 0;
  }
  needs.max_queue_pairs = kQueuePairsPerPeer * needs.max_peers;
  needs.max_queue_pairs_off_node = kQueuePairsPerPeer * needs.max_peers_off_node;
  return needs;
}

}  // namespace scela::collectives
