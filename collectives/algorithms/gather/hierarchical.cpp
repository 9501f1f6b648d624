// A leader has all blocks of its node before it sends them to the root. It sends a message for each
// run of ranks that follow each other.
#include <vector>

#include "collectives/algorithms/gather/gather.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

class Gathering {
 public:
  Gathering(const Shape& shape, int rank)
      : shape_(shape), hierarchy_(shape, shape.root), rank_(rank) {}

  TaskList list() {
    const int leader = hierarchy_.leader(hierarchy_.node_of(rank_));
    if (rank_ == shape_.root) return root();
    return rank_ == leader ? lead() : follow(leader);
  }

 private:
  Blocks own() const { return input(0, shape_.segments); }
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

TaskList Gathering::root() {
  const int own_node = hierarchy_.node_of(rank_);
  const auto each = [&](auto act) {
    for (int node = 0; node < hierarchy_.nodes().nodes(); ++node) {
      const std::vector<int>& members = hierarchy_.members(node);
      if (node != own_node) {
        act(hierarchy_.leader(node), runs_of(members));
        continue;
      }
      for (const int member : members) {
        if (member != rank_) act(member, std::vector<Stretch>{{member, 1}});
      }
    }
  };
  each([&](int from, const std::vector<Stretch>& runs) {
    for (const Stretch& run : runs)
      list_.receive(from, at(Space::output, run.first, run.count));
  });
  if (!shape_.in_place) list_.copy(own(), at(Space::output, rank_, 1));
  each([&](int from, const std::vector<Stretch>& runs) {
    list_.wait_received(from, static_cast<std::uint32_t>(runs.size()));
  });
  return list_.done(shape_.in_place ? 0 : shape_.segments,
                    static_cast<std::uint32_t>(shape_.ranks) * shape_.segments, 0);
}

TaskList Gathering::lead() {
  const std::vector<int>& members = hierarchy_.members(hierarchy_.node_of(rank_));
  for (const int member : members) {
    if (member != rank_) list_.receive(member, kept(member, 1));
  }
  list_.copy(own(), kept(rank_, 1));
  for (const int member : members) {
    if (member != rank_) list_.wait_received(member, 1);
  }
  list_.signal();
  for (const Stretch& run : runs_of(members))
    list_.send(shape_.root, kept(run.first, run.count));
  return list_.done(shape_.segments, 0, kept(members.back() + 1, 0).first);
}

TaskList Gathering::follow(int leader) {
  list_.send(leader, own());
  return list_.done(shape_.segments, 0, 0);
}

}  // namespace

TaskList gather_hierarchical(const Shape& shape, int rank) {
  return Gathering(shape, rank).list();
}

}  // namespace scela::collectives
