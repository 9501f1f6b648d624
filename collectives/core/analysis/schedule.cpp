#include "collectives/core/analysis/schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// The messages from one rank to another: `base` ... `base + sends - 1`.
struct Channel {
  int to = 0;
  std::uint32_t base = 0;
  std::uint32_t sends = 0;
  std::uint32_t begun = 0;
  std::uint32_t received = 0;  // receives begun
  std::uint32_t waited_sent = 0;
  std::uint32_t waited_received = 0;
};

std::string place_of(int rank, std::uint32_t number, const Task& task) {
  return cat("rank ", rank, ", task ", number, " '", to_text(task), "'");
}

std::string_view plural(std::uint32_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace

Error task_error(int rank, std::uint32_t number, const Task& task, std::string why) {
  return {ErrorKind::internal, "check task lists", place_of(rank, number, task), std::move(why),
          "correct the algorithm that made the list"};
}

class ScheduleMaker {
 public:
  explicit ScheduleMaker(std::span<const TaskList> lists) {
    made_.lists_ = lists;
    made_.steps_.resize(lists.size());
    channels_.resize(lists.size());
  }

  Result<Schedule> make() {
    find_channels();
    for (int rank = 0; rank < made_.ranks() && !error_; ++rank)
      take_list(rank);
    for (int rank = 0; rank < made_.ranks() && !error_; ++rank)
      look_at_ends(rank);
    if (error_) return fail(std::move(*error_));
    return std::move(made_);
  }

 private:
  void find_channels();
  void take_list(int rank);
  void take(int rank, std::uint32_t number, const Task& task);
  void begin_send(int rank, std::uint32_t number, std::uint32_t position);
  void begin_receive(int rank, std::uint32_t number, const Task& task);
  void wait(int rank, std::uint32_t number, const Task& task);
  void enable(int rank, std::uint32_t number, const Task& task);
  void look_at_ends(int rank);
  Channel* channel(int from, int to);

  void refuse(int rank, std::uint32_t number, std::string why) {
    if (!error_) error_ = task_error(rank, number, made_.task(rank, number), std::move(why));
  }
  std::vector<Step>& steps(int rank) { return made_.steps_[static_cast<std::size_t>(rank)]; }

  Schedule made_;
  std::vector<std::vector<Channel>> channels_;  // indexed by sender; receivers ascend
  // The held sends of the rank that take_list() works on, by peer, and how many of them have begun.
  struct Held {
    std::vector<std::uint32_t> tasks;
    std::size_t begun = 0;
  };
  std::map<int, Held> held_;
  std::optional<Error> error_;
};

void ScheduleMaker::find_channels() {
  std::uint32_t base = 0;
  std::vector<int> peers;
  for (int rank = 0; rank < made_.ranks(); ++rank) {
    peers.clear();
    for (const Task& task : made_.list(rank).tasks) {
      if (task.kind == Kind::send) peers.push_back(task.peer);
    }
    std::sort(peers.begin(), peers.end());
    std::vector<Channel>& out = channels_[static_cast<std::size_t>(rank)];
    for (const int peer : peers) {
      if (out.empty() || out.back().to != peer) out.push_back({peer, base});
      ++out.back().sends;
      ++base;
    }
  }
  made_.messages_.resize(base, Message{0, 0, kNone, kNone});
}

Channel* ScheduleMaker::channel(int from, int to) {
  std::vector<Channel>& out = channels_[static_cast<std::size_t>(from)];
  const auto found = std::lower_bound(out.begin(), out.end(), to,
                                      [](const Channel& a, int peer) { return a.to < peer; });
  return found == out.end() || found->to != to ? nullptr : &*found;
}

void ScheduleMaker::take_list(int rank) {
  held_.clear();
  const std::vector<Task>& tasks = made_.list(rank).tasks;
  steps(rank).reserve(tasks.size());
  for (std::uint32_t number = 0; number < tasks.size() && !error_; ++number)
    take(rank, number, tasks[number]);
  for (const auto& [peer, held] : held_) {
    if (held.begun < held.tasks.size()) {
      refuse(rank, held.tasks[held.begun], "is held, and nothing enables it");
    }
  }
  const auto is_signal = [](const Task& task) { return task.kind == Kind::signal; };
  const bool has_signal = std::any_of(tasks.begin(), tasks.end(), is_signal);
  if (has_signal && !is_signal(tasks.back())) {
    refuse(rank, static_cast<std::uint32_t>(tasks.size() - 1),
           "comes after the last signal, which is the end of the operation");
  }
}

void ScheduleMaker::take(int rank, std::uint32_t number, const Task& task) {
  const bool has_peer =
      task.kind != Kind::copy && task.kind != Kind::reduce && task.kind != Kind::signal;
  if (has_peer && (task.peer < 0 || task.peer >= made_.ranks())) {
    return refuse(rank, number, cat("there is no rank ", task.peer, " among ", made_.ranks()));
  }
  if (has_peer && task.peer == rank) {
    return refuse(rank, number, "a rank has no messages with itself: it copies");
  }
  switch (task.kind) {
    case Kind::send:
      if (task.held) {
        held_[task.peer].tasks.push_back(number);
      } else {
        begin_send(rank, number, number);
      }
      return;
    case Kind::receive:
      return begin_receive(rank, number, task);
    case Kind::wait_sent:
    case Kind::wait_received:
      return wait(rank, number, task);
    case Kind::enable:
      return enable(rank, number, task);
    case Kind::copy:
    case Kind::reduce:
    case Kind::signal:
      steps(rank).push_back({task.kind, number, number, 0, 0});
  }
}

void ScheduleMaker::begin_send(int rank, std::uint32_t number, std::uint32_t position) {
  const int peer = made_.task(rank, number).peer;
  Channel& to = *channel(rank, peer);
  const std::uint32_t message = to.base + to.begun++;
  made_.messages_[message].from = rank;
  made_.messages_[message].to = peer;
  made_.messages_[message].send = number;
  steps(rank).push_back({Kind::send, number, position, message, 1});
}

void ScheduleMaker::begin_receive(int rank, std::uint32_t number, const Task& task) {
  Channel* from = channel(task.peer, rank);
  if (from == nullptr || from->received == from->sends) {
    const std::uint32_t sends = from == nullptr ? 0 : from->sends;
    return refuse(rank, number,
                  cat("is receive ", sends + 1, " from rank ", task.peer, ", which sends rank ",
                      rank, " ", sends, " message", plural(sends)));
  }
  const std::uint32_t message = from->base + from->received++;
  made_.messages_[message].receive = number;
  steps(rank).push_back({Kind::receive, number, number, message, 1});
}

void ScheduleMaker::wait(int rank, std::uint32_t number, const Task& task) {
  const bool sent = task.kind == Kind::wait_sent;
  Channel* through = sent ? channel(rank, task.peer) : channel(task.peer, rank);
  Channel none;
  if (through == nullptr) through = &none;
  const std::uint32_t begun = sent ? through->begun : through->received;
  std::uint32_t& waited = sent ? through->waited_sent : through->waited_received;
  if (task.count == 0) return refuse(rank, number, "waits for nothing");
  if (task.count > begun - waited) {
    return refuse(rank, number,
                  cat("waits for ", task.count, " ", sent ? "sends to" : "receives from", " rank ",
                      task.peer, ", but ", begun - waited, " of those begun so far ",
                      begun - waited == 1 ? "has" : "have", " not been waited for"));
  }
  steps(rank).push_back({task.kind, number, number, through->base + waited, task.count});
  waited += task.count;
}

void ScheduleMaker::enable(int rank, std::uint32_t number, const Task& task) {
  Held& held = held_[task.peer];
  const std::size_t left = held.tasks.size() - held.begun;
  if (task.count == 0) return refuse(rank, number, "enables nothing");
  if (task.count > left) {
    return refuse(rank, number,
                  cat("enables ", task.count, " sends to rank ", task.peer, ", but ", left,
                      left == 1 ? " is" : " are", " held there",
                      held.begun > 0 ? cat(": ", held.begun, " had been enabled before") : ""));
  }
  for (std::uint32_t i = 0; i < task.count; ++i)
    begin_send(rank, held.tasks[held.begun++], number);
}

// Finds messages without a receive, and ends that no wait covers, after all lists have been taken.
void ScheduleMaker::look_at_ends(int rank) {
  for (const Channel& to : channels_[static_cast<std::size_t>(rank)]) {
    const Message* messages = &made_.messages_[to.base];
    if (to.received < to.sends) {
      return refuse(rank, messages[to.received].send,
                    cat("is send ", to.received + 1, " to rank ", to.to, ", which begins ",
                        to.received, " receive", plural(to.received), " from rank ", rank));
    }
    if (to.waited_sent < to.sends) {
      return refuse(rank, messages[to.waited_sent].send, "has begun, and nothing waits for it");
    }
    if (to.waited_received < to.sends) {
      return refuse(to.to, messages[to.waited_received].receive,
                    "has begun, and nothing waits for it");
    }
  }
}

Result<Schedule> Schedule::of(std::span<const TaskList> lists) {
  return ScheduleMaker(lists).make();
}

namespace {

// The state of each message while lists run, as bits.
enum : std::uint8_t { kSendBegun = 1, kReceiveBegun = 2, kSenderWaits = 4, kReceiverWaits = 8 };
constexpr std::uint8_t kMet = kSendBegun | kReceiveBegun;

}  // namespace

Result<void> Schedule::run(const Stepped& stepped, const Met& met) const {
  std::vector<std::uint8_t> state(messages_.size(), 0);
  std::vector<std::uint32_t> reached(lists_.size(), 0);  // steps done, indexed by rank
  std::vector<int> ready(lists_.size());
  for (int rank = 0; rank < ranks(); ++rank)
    ready[ready.size() - 1 - static_cast<std::size_t>(rank)] = rank;
  const auto begin = [&](std::uint32_t message, std::uint8_t end) {
    state[message] |= end;
    if ((state[message] & kMet) != kMet) return;
    met(message);
    if (state[message] & kSenderWaits) ready.push_back(messages_[message].from);
    if (state[message] & kReceiverWaits) ready.push_back(messages_[message].to);
  };
  while (!ready.empty()) {
    const int rank = ready.back();
    ready.pop_back();
    const std::vector<Step>& own = steps(rank);
    for (auto& at = reached[static_cast<std::size_t>(rank)]; at < own.size(); ++at) {
      const Step& step = own[at];
      const bool waits = step.kind == Kind::wait_sent || step.kind == Kind::wait_received;
      // Messages of a rank to another meet in order, so all are there if the last one is.
      const std::uint32_t last = step.message + step.count - 1;
      if (waits && (state[last] & kMet) != kMet) {
        state[last] |= step.kind == Kind::wait_sent ? kSenderWaits : kReceiverWaits;
        break;
      }
      stepped(rank, step);
      if (step.kind == Kind::send) begin(step.message, kSendBegun);
      if (step.kind == Kind::receive) begin(step.message, kReceiveBegun);
    }
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    if (reached[static_cast<std::size_t>(rank)] < steps(rank).size()) {
      return fail(circle_from(reached, rank));
    }
  }
  return {};
}

// A stuck rank waits for a peer to begin its end of a message. The peer has that end further on in
// its list, so it is stuck as well. So the chain of peers comes round.
Error Schedule::circle_from(const std::vector<std::uint32_t>& reached, int stuck) const {
  const auto step_of = [&](int rank) -> const Step& {
    return steps(rank)[reached[static_cast<std::size_t>(rank)]];
  };
  const auto next = [&](int rank) { return task(rank, step_of(rank).task).peer; };
  std::vector<bool> seen(lists_.size(), false);
  for (; !seen[static_cast<std::size_t>(stuck)]; stuck = next(stuck))
    seen[static_cast<std::size_t>(stuck)] = true;
  std::vector<int> circle = {stuck};
  for (int rank = next(stuck); rank != stuck; rank = next(rank))
    circle.push_back(rank);
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
  constexpr std::size_t kMaxNamed = 8;
  std::string why = cat("waits for rank ", next(circle[0]));
  for (std::size_t i = 1; i < std::min(circle.size(), kMaxNamed); ++i) {
    const std::uint32_t at = step_of(circle[i]).task;
    why += cat(", which is at task ", at, " '", to_text(task(circle[i], at)),
               "' and waits for rank ", next(circle[i]));
  }
  if (circle.size() > kMaxNamed) why += cat(" ... in a circle of ", circle.size(), " ranks");
  const std::uint32_t first = step_of(circle[0]).task;
  Error error = task_error(circle[0], first, task(circle[0], first), std::move(why));
  error.what += ": nothing goes on, though all sends would be received";
  return error;
}

}  // namespace scela::collectives
