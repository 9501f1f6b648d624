// The hierarchical gather (../gather/hierarchical.cpp) backwards: other nodes' blocks leave first.
#include <vector>

#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/scatter/scatter.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

class Scattering {
 public:
  Scattering(const Shape& shape, int rank)
      : shape_(shape), hierarchy_(shape, shape.root), rank_(rank) {}

  TaskList list() {
    const int leader = hierarchy_.leader(hierarchy_.node_of(rank_));
    if (rank_ == shape_.root) return root();
    return rank_ == leader ? lead() : follow(leader);
  }

 private:
  Blocks own() const { return output(0, shape_.segments); }
  Blocks at(Space space, int first, int count) const {
    return {space, static_cast<std::uint32_t>(first) * shape_.segments,
            static_cast<std::uint32_t>(count) * shape_.segments};
  }
  // A leader's scratch has its own block first, then those of the ranks that follow it.
  Blocks kept(int first, int count) const { return at(Space::scratch, first - rank_, count); }
  TaskList root();
  TaskList lead();
  TaskList follow(int leader);

  Writer list_;
  Shape shape_;
  Hierarchy hierarchy_;
  int rank_;
};

TaskList Scattering::root() {
  const int own_node = hierarchy_.node_of(rank_);
  for (int node = 0; node < hierarchy_.nodes().nodes(); ++node) {
    if (node == own_node) continue;
    for (const Stretch& run : runs_of(hierarchy_.members(node)))
      list_.send(hierarchy_.leader(node), at(Space::input, run.first, run.count));
  }
  for (const int member : hierarchy_.members(own_node)) {
    if (member != rank_) list_.send(member, at(Space::input, member, 1));
  }
  if (!shape_.in_place) list_.copy(at(Space::input, rank_, 1), own());
  return list_.done(static_cast<std::uint32_t>(shape_.ranks) * shape_.segments,
                    shape_.in_place ? 0 : shape_.segments, 0);
}

TaskList Scattering::lead() {
  const std::vector<int>& members = hierarchy_.members(hierarchy_.node_of(rank_));
  const std::vector<Stretch> runs = runs_of(members);
  for (const Stretch& run : runs)
    list_.receive(shape_.root, kept(run.first, run.count));
  list_.wait_received(shape_.root, static_cast<std::uint32_t>(runs.size()));
  list_.signal();
  for (const int member : members) {
    if (member != rank_) list_.send(member, kept(member, 1));
  }
  list_.copy(kept(rank_, 1), own());
  return list_.done(0, shape_.segments, kept(members.back() + 1, 0).first);
}

TaskList Scattering::follow(int leader) {
  list_.receive(leader, own());
  list_.wait_received(leader, 1);
  return list_.done(0, shape_.segments, 0);
}

}  // namespace

TaskList scatter_hierarchical(const Shape& shape, int rank) {
  return Scattering(shape, rank).list();
}

}  // namespace scela::collectives
