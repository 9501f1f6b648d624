#include "collectives/algorithms/allgather/forms.h"

#include <deque>
#include <map>

#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

class Eager {
 public:
  Eager(const Shape& shape, int rank) : shape_(shape), rank_(rank), places_(shape, rank) {}
  TaskList list(const TaskList& whole);

 private:
  // Returns the eager buffer of a block, wherever the original list has the block. Scratch begins
  // with the rank's own blocks, then come those of the ranks that follow it.
  Blocks buffer(Space space, std::uint32_t block) const {
    if (space != Space::output) return scratch(block, 1);
    const auto all = static_cast<std::uint32_t>(shape_.ranks) * shape_.segments;
    const auto before = static_cast<std::uint32_t>(rank_) * shape_.segments;
    return scratch((block + all - before) % all, 1);
  }
  void copy_in() {
    if (is_in_) return;
    is_in_ = true;
    list_.copy(places_.given(), scratch(0, shape_.segments));
  }
  void copy_out();
  void task(const Task& task);

  Writer list_;
  Shape shape_;
  int rank_;
  GatheredPlaces places_;
  bool is_in_ = false;
  std::map<int, std::deque<std::uint32_t>> coming_;  // per peer: blocks of each message
};

void Eager::copy_out() {
  const std::uint32_t behind = static_cast<std::uint32_t>(shape_.ranks - rank_) * shape_.segments;
  list_.copy(scratch(0, behind), places_.of(rank_, shape_.ranks - rank_));
  if (rank_ > 0) {
    const Blocks first = places_.of(0, rank_);
    list_.copy(scratch(behind, first.count), first);
  }
}

void Eager::task(const Task& task) {
  switch (task.kind) {
    case Kind::receive:
      for (std::uint32_t i = 0; i < task.to.count; ++i)
        list_.receive(task.peer, buffer(task.to.space, task.to.first + i));
      coming_[task.peer].push_back(task.to.count);
      return;
    case Kind::send:
      copy_in();
      for (std::uint32_t i = 0; i < task.from.count; ++i)
        list_.send(task.peer, buffer(task.from.space, task.from.first + i));
      return;
    case Kind::wait_received: {
      std::uint32_t count = 0;
      for (std::uint32_t i = 0; i < task.count; ++i) {
        count += coming_[task.peer].front();
        coming_[task.peer].pop_front();
      }
      return list_.wait_received(task.peer, count);
    }
    case Kind::wait_sent:
      return list_.wait_sent(task.peer);
    case Kind::copy:  // copy_out() does this at the end
    case Kind::reduce:
    case Kind::enable:
    case Kind::signal:
      return;
  }
}

TaskList Eager::list(const TaskList& whole) {
  for (const Task& each : whole.tasks)
    task(each);
  copy_in();
  copy_out();
  return places_.done(list_, static_cast<std::uint32_t>(shape_.ranks) * shape_.segments);
}

class Rendezvous {
 public:
  TaskList list(const TaskList& whole);

 private:
  struct Peer {
    std::uint32_t sends = 0;  // sends, each with one clearance
    std::uint32_t sent = 0;
    std::uint32_t cleared = 0;  // clearances waited for
  };
  void post(const TaskList& whole);
  void task(const Task& task);

  Writer list_;
  std::map<int, Peer> peers_;
};

// Both ends post clearances first, so that these meet each other.
void Rendezvous::post(const TaskList& whole) {
  for (const Task& task : whole.tasks) {
    if (task.kind != Kind::send) continue;
    ++peers_[task.peer].sends;
    list_.receive(task.peer, nothing());
  }
  for (const Task& task : whole.tasks) {
    if (task.kind != Kind::receive) continue;
    list_.receive(task.peer, task.to);
    list_.send(task.peer, nothing());
  }
}

void Rendezvous::task(const Task& task) {
  switch (task.kind) {
    case Kind::send: {
      Peer& peer = peers_[task.peer];
      if (++peer.sent > peer.cleared) {
        list_.wait_received(task.peer, 1);
        ++peer.cleared;
      }
      return list_.send(task.peer, task.from);
    }
    case Kind::wait_received: {
      // Completions of a peer are counted in order, and its clearances come before what it sends.
      Peer& peer = peers_[task.peer];
      list_.wait_received(task.peer, peer.sends - peer.cleared + task.count);
      peer.cleared = peer.sends;
      return;
    }
    case Kind::wait_sent:
      return list_.wait_sent(task.peer);
    case Kind::copy:
      return list_.copy(task.from, task.to);
    case Kind::receive:
    case Kind::reduce:
    case Kind::enable:
    case Kind::signal:
      return;
  }
}

TaskList Rendezvous::list(const TaskList& whole) {
  post(whole);
  for (const Task& each : whole.tasks)
    task(each);
  const auto blocks = [&](Space space) { return whole.blocks[static_cast<std::size_t>(space)]; };
  return list_.done(blocks(Space::input), blocks(Space::output), blocks(Space::scratch));
}

}  // namespace

TaskList eager(const Shape& shape, int rank, const TaskList& list) {
  return Eager(shape, rank).list(list);
}

TaskList rendezvous(const TaskList& list) {
  return Rendezvous().list(list);
}

TaskList allgather_eager_bruck(const Shape& shape, int rank) {
  return eager(shape, rank, allgather_bruck(shape, rank));
}
TaskList allgather_eager_ring(const Shape& shape, int rank) {
  return eager(shape, rank, allgather_ring(shape, rank));
}
TaskList allgather_eager_standard_exchange(const Shape& shape, int rank) {
  return eager(shape, rank, allgather_standard_exchange(shape, rank));
}

TaskList allgather_rendezvous_bruck(const Shape& shape, int rank) {
  return rendezvous(allgather_bruck(shape, rank));
}
TaskList allgather_rendezvous_ring(const Shape& shape, int rank) {
  return rendezvous(allgather_ring(shape, rank));
}
TaskList allgather_rendezvous_standard_exchange(const Shape& shape, int rank) {
  return rendezvous(allgather_standard_exchange(shape, rank));
}

}  // namespace scela::collectives
