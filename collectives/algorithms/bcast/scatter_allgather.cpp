// The two stages are those of the mixed-mode thesis, section 1.6 of its digest. The ring is the one
// of the offload thesis, section 4.2.3.
#include <vector>

#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/tree.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

constexpr std::size_t kAhead = 2;

// Parts are numbered by place: part i belongs to place i after the scatter.
class Ring {
 public:
  Ring(const Shape& shape, int rank)
      : tree_(binomial_tree(shape)), shape_(shape), place_(place_of(tree_, rank)) {}

  // Returns the part that this place passes on in a step: in step i, the part i places behind it.
  int passed_on(int step) const { return (place_ - step + shape_.ranks) % shape_.ranks; }
  int left() const { return rank_at(tree_, (place_ + shape_.ranks - 1) % shape_.ranks); }
  int right() const { return rank_at(tree_, (place_ + 1) % shape_.ranks); }
  bool is_scattered_to(int rank, int part) const {
    const int first = place_of(tree_, rank);
    return part >= first && part < first + subtree(tree_, rank);
  }
  Blocks blocks(int part, int count) const {
    return output(static_cast<std::uint32_t>(part) * shape_.segments,
                  static_cast<std::uint32_t>(count) * shape_.segments);
  }
  const Tree& tree() const { return tree_; }

 private:
  Tree tree_;
  Shape shape_;
  int place_;
};

void scatter(const Ring& ring, int rank, Writer& list) {
  if (const int from = parent(ring.tree(), rank); from != kNoParent) {
    list.receive(from, ring.blocks(place_of(ring.tree(), rank), subtree(ring.tree(), rank)));
    list.wait_received(from, 1);
  }
  for (const int child : children_largest_first(ring.tree(), rank))
    list.send(child, ring.blocks(place_of(ring.tree(), child), subtree(ring.tree(), child)));
}

}  // namespace

TaskList bcast_scatter_allgather(const Shape& shape, int rank) {
  Writer list;
  const Ring ring(shape, rank);
  scatter(ring, rank, list);

  std::vector<int> missing;  // in order of arrival
  for (int step = 1; step < shape.ranks; ++step) {
    if (const int part = ring.passed_on(step); !ring.is_scattered_to(rank, part))
      missing.push_back(part);
  }
  std::size_t posted = 0;
  std::size_t here = 0;
  const auto post = [&] {
    for (; posted < missing.size() && posted < here + kAhead; ++posted)
      list.receive(ring.left(), ring.blocks(missing[posted], 1));
  };
  post();
  for (int step = 0; step + 1 < shape.ranks; ++step) {
    const int part = ring.passed_on(step);
    if (!ring.is_scattered_to(ring.right(), part)) list.send(ring.right(), ring.blocks(part, 1));
    if (ring.is_scattered_to(rank, ring.passed_on(step + 1))) continue;
    list.wait_received(ring.left(), 1);
    ++here;
    post();
  }
  return list.done(0, static_cast<std::uint32_t>(shape.ranks) * shape.segments, 0);
}

}  // namespace scela::collectives
