// Offload thesis, section 4.4, for an alltoall. Leaders get all that their nodes give. Pair by
// pair, they exchange what is for each other's nodes, and give each of their ranks what it gets.
//
// A leader's scratch has three areas of as many blocks as its node's ranks give: rows, one of each
// rank; packets to send, one for each node; and received packets. In a packet, what is for rank r
// stands behind what is for earlier ranks. Within that, what rank q gives stands behind what
// earlier ranks give.
#include <cstdint>
#include <vector>

#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/section.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

TaskList led(const Shape& shape, int leader) {
  Writer list;
  const std::uint32_t all = static_cast<std::uint32_t>(shape.ranks) * shape.segments;
  if (!shape.in_place) list.receive(leader, output(0, all));
  list.send(leader, shape.in_place ? output(0, all) : input(0, all));
  list.wait_sent(leader);
  list.signal();
  if (shape.in_place) list.receive(leader, output(0, all));
  list.wait_received(leader, 1);
  return list.done(shape.in_place ? 0 : all, all, 0);
}

class Leader {
 public:
  Leader(const Shape& shape, const Hierarchy& hierarchy, int rank)
      : shape_(shape),
        hierarchy_(hierarchy),
        node_(hierarchy.node_of(rank)),
        members_(hierarchy.members(node_)) {
    int ranks = 0;
    for (int node = 0; node < hierarchy.nodes().nodes(); ++node) {
      before_.push_back(ranks);
      ranks += size(node);
    }
  }
  TaskList list();

 private:
  int size(int node) const { return static_cast<int>(hierarchy_.members(node).size()); }
  int own_size() const { return size(node_); }
  Blocks at(Space space, int first, int count) const {
    return {space, static_cast<std::uint32_t>(first) * shape_.segments,
            static_cast<std::uint32_t>(count) * shape_.segments};
  }
  // Returns what the member of that number gives to, or gets from, `count` ranks.
  Blocks row(int number, int first, int count) const {
    return at(Space::scratch, number * shape_.ranks + first, count);
  }
  Blocks in_packet(int area, int node, int first, int count) const {
    const int begin = area * own_size() * shape_.ranks;
    return at(Space::scratch, begin + own_size() * before_[static_cast<std::size_t>(node)] + first,
              count);
  }
  void gather();
  void pack();
  void exchange();
  void unpack();

  Writer list_;
  Shape shape_;
  const Hierarchy& hierarchy_;
  int node_;
  const std::vector<int>& members_;
  std::vector<int> before_;  // ranks on earlier nodes, by node
};

void Leader::gather() {
  for (int number = 1; number < own_size(); ++number)
    list_.receive(members_[static_cast<std::size_t>(number)], row(number, 0, shape_.ranks));
  list_.copy(at(shape_.in_place ? Space::output : Space::input, 0, shape_.ranks),
             row(0, 0, shape_.ranks));
  for (int number = 1; number < own_size(); ++number)
    list_.wait_received(members_[static_cast<std::size_t>(number)], 1);
}

void Leader::pack() {
  for (int node = 0; node < hierarchy_.nodes().nodes(); ++node) {
    int next = 0;
    for (const int to : hierarchy_.members(node)) {
      for (int number = 0; number < own_size(); ++number)
        list_.copy(row(number, to, 1), in_packet(1, node, next++, 1));
    }
  }
}

void Leader::exchange() {
  Shape shape;
  shape.operation = Operation::alltoall;
  shape.ranks = hierarchy_.nodes().nodes();
  const Where where = [&](const Blocks& packet) {
    const int node = static_cast<int>(packet.first);
    const int area = packet.space == Space::input ? 1 : 2;
    return std::vector<Blocks>{in_packet(area, node, 0, own_size() * size(node))};
  };
  append(list_, alltoall_pairwise(shape, node_), hierarchy_.leaders(), where);
}

void Leader::unpack() {
  for (int node = 0; node < hierarchy_.nodes().nodes(); ++node) {
    for (int number = 0; number < own_size(); ++number) {
      int from = number * size(node);
      for (const Stretch& run : runs_of(hierarchy_.members(node))) {
        list_.copy(in_packet(2, node, from, run.count), row(number, run.first, run.count));
        from += run.count;
      }
    }
  }
}

TaskList Leader::list() {
  gather();
  list_.signal();
  pack();
  exchange();
  list_.signal();
  unpack();
  for (int number = 1; number < own_size(); ++number)
    list_.send(members_[static_cast<std::size_t>(number)], row(number, 0, shape_.ranks));
  list_.copy(row(0, 0, shape_.ranks), at(Space::output, 0, shape_.ranks));
  const std::uint32_t all = at(Space::output, 0, shape_.ranks).count;
  return list_.done(shape_.in_place ? 0 : all, all,
                    3 * static_cast<std::uint32_t>(own_size()) * all);
}

}  // namespace

TaskList alltoall_hierarchical(const Shape& shape, int rank) {
  const Hierarchy hierarchy(shape, Hierarchy::kNoRoot);
  const int leader = hierarchy.leader(hierarchy.node_of(rank));
  if (leader != rank) return led(shape, leader);
  return Leader(shape, hierarchy, rank).list();
}

}  // namespace scela::collectives
