#include "collectives/algorithms/section.h"

#include <algorithm>
#include <deque>
#include <map>

namespace scela::collectives {

namespace {

class Appender {
 public:
  Appender(Writer& list, const std::vector<int>& members, const Where& where)
      : list_(list), members_(members), where_(where) {}

  void task(const Task& task);

 private:
  int rank_of(const Task& task) const { return members_[static_cast<std::size_t>(task.peer)]; }
  std::vector<Blocks> pieces(const Blocks& blocks) const {
    return blocks.count == 0 ? std::vector<Blocks>{nothing()} : where_(blocks);
  }
  void receive(const Task& task);
  void wait_received(const Task& task);
  // Calls act(from, to) for each pair of runs with the same number of blocks.
  template <typename Act>
  void in_pairs(const Task& task, Act act) const;

  Writer& list_;
  const std::vector<int>& members_;
  const Where& where_;
  std::map<int, std::deque<std::uint32_t>> coming_;  // pieces of each message under way
};

void Appender::receive(const Task& task) {
  const std::vector<Blocks> all = pieces(task.to);
  for (const Blocks& piece : all)
    list_.receive(rank_of(task), piece);
  coming_[task.peer].push_back(static_cast<std::uint32_t>(all.size()));
}

void Appender::wait_received(const Task& task) {
  std::deque<std::uint32_t>& coming = coming_[task.peer];
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < task.count; ++i) {
    count += coming.front();
    coming.pop_front();
  }
  list_.wait_received(rank_of(task), count);
}

template <typename Act>
void Appender::in_pairs(const Task& task, Act act) const {
  const std::vector<Blocks> from = where_(task.from);
  const std::vector<Blocks> to = where_(task.to);
  std::size_t source = 0;
  std::size_t target = 0;
  std::uint32_t read = 0;  // blocks of the source's run
  std::uint32_t written = 0;
  while (source < from.size() && target < to.size()) {
    const std::uint32_t count = std::min(from[source].count - read, to[target].count - written);
    const Blocks left{from[source].space, from[source].first + read, count};
    const Blocks right{to[target].space, to[target].first + written, count};
    if (left != right) act(left, right);
    read += count;
    written += count;
    if (read == from[source].count) {
      ++source;
      read = 0;
    }
    if (written == to[target].count) {
      ++target;
      written = 0;
    }
  }
}

void Appender::task(const Task& task) {
  switch (task.kind) {
    case Kind::send:
      for (const Blocks& piece : pieces(task.from))
        list_.send(rank_of(task), piece);
      return;
    case Kind::receive:
      return receive(task);
    case Kind::wait_sent:
      return list_.wait_sent(rank_of(task));
    case Kind::wait_received:
      return wait_received(task);
    case Kind::copy:
      return in_pairs(task, [&](Blocks from, Blocks to) { list_.copy(from, to); });
    case Kind::reduce:
      return in_pairs(task, [&](Blocks from, Blocks to) {
        task.from_right ? list_.reduce_right(from, to) : list_.reduce_left(from, to);
      });
    case Kind::enable:
    case Kind::signal:
      return;
  }
}

}  // namespace

Where same_place(bool in_place) {
  return [in_place](const Blocks& blocks) {
    const bool moved = in_place && blocks.space == Space::input;
    return std::vector<Blocks>{{moved ? Space::output : blocks.space, blocks.first, blocks.count}};
  };
}

void append(Writer& list, const TaskList& section, const std::vector<int>& members,
            const Where& where) {
  Appender appender(list, members, where);
  for (const Task& task : section.tasks)
    appender.task(task);
}

}  // namespace scela::collectives
