// Lists on an adapter's queues, each of which holds only so many requests.
//
// A rank's process posts, and its adapter does what is posted. It does the tasks of the management
// queue in order. Messages, copies and announcements go as soon as they are enabled and stand on
// their queue. A step that is possible stays possible. So every order of steps ends in the same
// state, and the check of one order is enough.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/offload.h"
#include "common/core/text.h"

namespace scela::collectives {
namespace {

using Do = OffloadTask::Kind;
using Count = std::uint32_t;

// One end of all messages of a rank to another.
struct End {
  Count enabled = 0;     // ends that the list has enabled
  Count posted = 0;      // ends put on their queue so far
  Count waited = 0;      // ends that the list has waited for
  Beside<Count> beside;  // numbers of tasks
  Count begun() const { return std::min(enabled, posted); }
};

struct Way {
  int from = 0;
  int to = 0;
  End send, receive;
  Count over = 0;
};

class PostingCheck {
 public:
  PostingCheck(std::span<const TaskList> lists, const QueueDepths& depths,
               std::span<const Layout> layouts, NoRoom rule)
      : depths_(depths), rule_(rule), ranks_(lists.size()) {
    for (std::size_t rank = 0; rank < lists.size(); ++rank)
      ranks_[rank].plan = plan_offload(lists[rank], layout_of(lists[rank], layouts, rank));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      find_ways(static_cast<int>(rank));
  }

  Result<void> check();

 private:
  struct Ways {
    std::size_t to = 0, from = 0;  // indices of the peer's ways
  };
  struct Rank {
    OffloadPlan plan;
    std::map<int, Ways> ways;  // keyed by peer
    std::vector<int> waiting;  // peers with requests beside a queue
    std::size_t posted = 0;    // tasks; the last one is the plan's end
    std::size_t done = 0;      // tasks that the adapter has done
    std::size_t said = 0;      // tasks reported as done
    Count copies = 0;          // copies on their queue
    Count telling = 0;         // announcements on their queue
    bool is_ready = false;
  };

  static Layout layout_of(const TaskList& list, std::span<const Layout> layouts, std::size_t rank);
  void find_ways(int rank);
  std::size_t way(int from, int to);

  void step(int rank);
  bool post_next(int number);
  bool post_message(int number, bool is_send, int peer);
  bool has_room(const Rank& rank, bool is_send, const Way& way) const;
  bool refill(int number);
  bool refill(int number, bool is_send, Way& way);
  void stand(Rank& rank, bool is_send, Way& way);
  bool do_next(int number);
  void meet(Way& way);
  void tell(Rank& rank, const Way& way, Count before);
  void wake(int rank);
  Error circle_from(int stuck);
  const OffloadTask& task(const Rank& rank, std::size_t number) const;
  bool stands_still(const Rank& rank) const { return rank.done <= rank.plan.tasks.size(); }
  // Returns the task that holds up a rank: one that waits, or one that finds no room.
  std::size_t held_by(const Rank& rank) const {
    return rank.done < rank.posted ? rank.done : rank.posted;
  }

  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  const QueueDepths depths_;
  const NoRoom rule_;
  std::vector<Rank> ranks_;
  std::vector<Way> ways_;
  std::map<std::pair<int, int>, std::size_t> numbers_;  // index of a way, by sender, receiver
  std::vector<int> ready_;
};

// ---- queues and plans ----

Layout PostingCheck::layout_of(const TaskList& list, std::span<const Layout> layouts,
                               std::size_t rank) {
  if (!layouts.empty()) return layouts[layouts.size() == 1 ? 0 : rank];
  Layout layout;
  for (std::size_t space = 0; space < 3; ++space)
    layout.spaces[space] = BlockSizes::equal(list.blocks[space], 1);
  return layout;
}

std::size_t PostingCheck::way(int from, int to) {
  const auto [at, is_new] = numbers_.try_emplace({from, to}, ways_.size());
  if (is_new) {
    ways_.emplace_back();
    ways_.back().from = from;
    ways_.back().to = to;
  }
  return at->second;
}

void PostingCheck::find_ways(int rank) {
  for (const int peer : of(rank).plan.peers)
    of(rank).ways[peer] = {way(rank, peer), way(peer, rank)};
}

const OffloadTask& PostingCheck::task(const Rank& rank, std::size_t number) const {
  static const OffloadTask end;  // a signal
  return number < rank.plan.tasks.size() ? rank.plan.tasks[number] : end;
}

// ---- the process ----

// A send holds its place until it is over, and so does a receive. The announcement of a receive
// leaves earlier, so it needs room only among those to all peers.
bool PostingCheck::has_room(const Rank& rank, bool is_send, const Way& way) const {
  const End& end = is_send ? way.send : way.receive;
  if (end.posted - way.over >= depths_.messages) return false;
  return is_send || rank.telling < depths_.announcements;
}

void PostingCheck::stand(Rank& rank, bool is_send, Way& way) {
  const Count before = way.receive.begun();
  ++(is_send ? way.send : way.receive).posted;
  if (!is_send) {
    ++rank.telling;
    tell(rank, way, before);
  }
  meet(way);
}

// Returns false if the request finds no room and holds up the list.
bool PostingCheck::post_message(int number, bool is_send, int peer) {
  Rank& rank = of(number);
  const Ways& ways = rank.ways.at(peer);
  Way& way = ways_[is_send ? ways.to : ways.from];
  Beside<Count>& beside = (is_send ? way.send : way.receive).beside;
  const bool has = has_room(rank, is_send, way);
  if (!has && rule_ == NoRoom::holds_up) return false;
  if (beside.keeps(static_cast<Count>(rank.posted), has)) {
    if (std::ranges::find(rank.waiting, peer) == rank.waiting.end()) rank.waiting.push_back(peer);
  } else {
    stand(rank, is_send, way);
  }
  return true;
}

bool PostingCheck::post_next(int number) {
  Rank& rank = of(number);
  if (rank.posted > rank.plan.tasks.size() || rank.posted - rank.said >= depths_.tasks)
    return false;
  const OffloadTask& next = task(rank, rank.posted);
  if (next.kind == Do::copy) {
    if (rank.copies >= depths_.copies) return false;
    ++rank.copies;
  }
  const bool is_send = next.kind == Do::send;
  if ((is_send || next.kind == Do::announce) && !post_message(number, is_send, next.peer))
    return false;
  ++rank.posted;
  return true;
}

bool PostingCheck::refill(int number, bool is_send, Way& way) {
  Rank& rank = of(number);
  End& end = is_send ? way.send : way.receive;
  bool some = false;
  for (; !end.beside.empty() && has_room(rank, is_send, way); some = true) {
    end.beside.take();
    stand(rank, is_send, way);
  }
  return some;
}

bool PostingCheck::refill(int number) {
  Rank& rank = of(number);
  bool some = false;
  for (const int peer : rank.waiting) {
    const Ways& ways = rank.ways.at(peer);
    some = refill(number, true, ways_[ways.to]) || some;
    some = refill(number, false, ways_[ways.from]) || some;
  }
  std::erase_if(rank.waiting, [&](int peer) {
    const Ways& ways = rank.ways.at(peer);
    return ways_[ways.to].send.beside.empty() && ways_[ways.from].receive.beside.empty();
  });
  return some;
}

// ---- the adapter ----

// Announcements need no other rank. They are gone when they are enabled and stand on their queue.
void PostingCheck::tell(Rank& rank, const Way& way, Count before) {
  rank.telling -= way.receive.begun() - before;
}

void PostingCheck::meet(Way& way) {
  const Count over = std::min(way.send.begun(), way.receive.begun());
  if (over == std::exchange(way.over, over)) return;
  wake(way.from);
  wake(way.to);
}

// Returns false if the management queue has nothing to do, or waits.
bool PostingCheck::do_next(int number) {
  Rank& rank = of(number);
  if (rank.done == rank.posted) return false;
  const OffloadTask& next = task(rank, rank.done);
  bool says = (rank.done + 1) % depths_.says() == 0;
  switch (next.kind) {
    case Do::announce: {
      Way& way = ways_[rank.ways.at(next.peer).from];
      const Count before = way.receive.begun();
      ++way.receive.enabled;
      tell(rank, way, before);
      meet(way);
      break;
    }
    case Do::send: {
      Way& way = ways_[rank.ways.at(next.peer).to];
      ++way.send.enabled;
      meet(way);
      break;
    }
    case Do::wait_sent:
    case Do::wait_received: {
      const Ways& ways = rank.ways.at(next.peer);
      Way& way = ways_[next.kind == Do::wait_sent ? ways.to : ways.from];
      Count& waited = (next.kind == Do::wait_sent ? way.send : way.receive).waited;
      if (way.over < waited + next.count) return false;
      waited += next.count;
      break;
    }
    case Do::copy:
      --rank.copies;
      break;
    case Do::wait_copies:
    case Do::reduce:
      break;
    case Do::signal:
      says = true;
      break;
  }
  ++rank.done;
  if (says) rank.said = rank.done;
  return true;
}

// ---- all ranks ----

void PostingCheck::wake(int rank) {
  if (std::exchange(of(rank).is_ready, true)) return;
  ready_.push_back(rank);
}

void PostingCheck::step(int rank) {
  for (bool some = true; some;) {
    some = refill(rank);
    while (post_next(rank))
      some = true;
    while (do_next(rank))
      some = true;
  }
}

Result<void> PostingCheck::check() {
  for (std::size_t rank = ranks_.size(); rank-- > 0;)
    wake(static_cast<int>(rank));
  while (!ready_.empty()) {
    const int rank = ready_.back();
    ready_.pop_back();
    of(rank).is_ready = false;
    step(rank);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (stands_still(ranks_[rank])) return fail(circle_from(static_cast<int>(rank)));
  return {};
}

// A rank that is held up needs its peer to begin its end of a message. The peer has that end
// further on in its list, so it is held up as well. So the chain of such messages comes round.
Error PostingCheck::circle_from(int stuck) {
  std::vector<bool> seen(ranks_.size(), false);
  const auto next = [&](int rank) { return task(of(rank), held_by(of(rank))).peer; };
  const auto words_of = [&](int number) {
    const Rank& rank = of(number);
    const std::size_t at = held_by(rank);
    const bool waits = rank.done < rank.posted;
    return cat("rank ", number, ", posted task ", at, " '", to_text(task(rank, at)), "'",
               waits ? " waits for" : " finds no room, which is made by", " rank ", next(number));
  };
  for (; next(stuck) >= 0 && !seen[static_cast<std::size_t>(stuck)]; stuck = next(stuck))
    seen[static_cast<std::size_t>(stuck)] = true;
  std::vector<int> circle = {stuck};
  for (int rank = next(stuck); rank >= 0 && rank != stuck; rank = next(rank))
    circle.push_back(rank);
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
  constexpr std::size_t kMaxNamed = 4;
  std::string why = words_of(circle[0]);
  for (std::size_t i = 1; i < std::min(circle.size(), kMaxNamed); ++i)
    why += "; " + words_of(circle[i]);
  if (circle.size() > kMaxNamed) why += cat(" ... in a circle of ", circle.size(), " ranks");
  return {ErrorKind::internal, "check task lists: nothing goes on with queues of this depth",
          cat("rank ", circle[0]), std::move(why), "correct the order in which the list is posted"};
}

}  // namespace

Result<void> check_posting(std::span<const TaskList> lists, const QueueDepths& depths,
                           std::span<const Layout> layouts, NoRoom rule) {
  return PostingCheck(lists, depths, layouts, rule).check();
}

}  // namespace scela::collectives
