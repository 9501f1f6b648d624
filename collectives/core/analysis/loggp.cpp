#include "collectives/core/analysis/loggp.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/analysis/schedule.h"

namespace scela::collectives {
namespace {

// The times until which a port is busy, in each direction.
struct Port {
  double sends_until = 0;
  double receives_until = 0;
};

struct RankState {
  double now = 0;            // the time of its processor
  std::size_t step = 0;      // index into its list
  std::uint32_t waited = 0;  // messages that step has waited for
  Port network;
  Port node;
};

class Simulation {
 public:
  Simulation(const Schedule& schedule, std::span<const Layout> layouts, const Machine& machine)
      : schedule_(schedule),
        layouts_(layouts),
        machine_(machine),
        ranks_(static_cast<std::size_t>(schedule.ranks())),
        left_(schedule.messages().size(), 0),
        arrived_(schedule.messages().size(), kNever) {}

  std::vector<double> run();

 private:
  static constexpr double kNever = -1;
  // The time of the first byte at the receiver's port, and the message. Ports serve the first that
  // comes.
  using Arrival = std::pair<double, std::uint32_t>;

  RankState& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  bool is_local(const Message& message) const {
    return machine_.node_of && machine_.node_of(message.from) == machine_.node_of(message.to);
  }
  const LogGP& figures(const Message& message) const {
    return is_local(message) ? machine_.node : machine_.network;
  }
  Port& port(int rank, const Message& message) {
    return is_local(message) ? state(rank).node : state(rank).network;
  }
  // Returns the time from the message's first byte to its last.
  double length(const Message& message) const {
    const Blocks& blocks = schedule_.task(message.from, message.send).from;
    const auto bytes = bytes_of(layouts_, message.from, blocks);
    return bytes == 0 ? 0 : static_cast<double>(bytes - 1) * figures(message).gap_per_byte;
  }

  void go_on(int rank);
  bool take(int rank, const Step& step);
  void send(int rank, std::uint32_t number);
  bool wait_received(int rank, const Step& step);
  void work(int rank, const Step& step, double per_byte);
  void arrive(const Arrival& arrival);

  const Schedule& schedule_;
  std::span<const Layout> layouts_;
  const Machine& machine_;
  std::vector<RankState> ranks_;
  std::vector<double> left_;     // last byte leaves, indexed by message
  std::vector<double> arrived_;  // last byte is received, by message
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
};

std::vector<double> Simulation::run() {
  for (int rank = 0; rank < schedule_.ranks(); ++rank)
    go_on(rank);
  // A rank acts after an arrival, so its own messages arrive later still, and ports see all
  // arrivals in order.
  while (!arrivals_.empty()) {
    const Arrival arrival = arrivals_.top();
    arrivals_.pop();
    arrive(arrival);
  }
  std::vector<double> out;
  for (const RankState& rank : ranks_)
    out.push_back(rank.now);
  return out;
}

void Simulation::go_on(int rank) {
  RankState& own = state(rank);
  const std::vector<Step>& steps = schedule_.steps(rank);
  while (own.step < steps.size() && take(rank, steps[own.step]))
    ++own.step;
}

// Returns false if the rank must wait.
bool Simulation::take(int rank, const Step& step) {
  RankState& own = state(rank);
  switch (step.kind) {
    case Kind::send:
      send(rank, step.message);
      return true;
    case Kind::wait_sent:
      own.now = std::max(own.now, left_[step.message + step.count - 1]);
      return true;
    case Kind::wait_received:
      return wait_received(rank, step);
    case Kind::copy:
      work(rank, step, machine_.copy_per_byte);
      return true;
    case Kind::reduce:
      work(rank, step, machine_.reduce_per_byte);
      return true;
    case Kind::receive:
    case Kind::enable:
    case Kind::signal:
      return true;
  }
  return true;
}

void Simulation::send(int rank, std::uint32_t number) {
  const Message& message = schedule_.messages()[number];
  const LogGP& figures = this->figures(message);
  double& until = port(rank, message).sends_until;
  double& now = state(rank).now;
  now += figures.overhead;
  const double first = std::max(now, until);
  left_[number] = first + length(message);
  until = left_[number] + figures.gap;
  arrivals_.emplace(first + figures.latency, number);
}

bool Simulation::wait_received(int rank, const Step& step) {
  RankState& own = state(rank);
  for (; own.waited < step.count; ++own.waited) {
    const std::uint32_t number = step.message + own.waited;
    if (arrived_[number] == kNever) return false;
    own.now = std::max(own.now, arrived_[number]) + figures(schedule_.messages()[number]).overhead;
  }
  own.waited = 0;
  return true;
}

void Simulation::work(int rank, const Step& step, double per_byte) {
  const Blocks& blocks = schedule_.task(rank, step.task).to;
  state(rank).now += static_cast<double>(bytes_of(layouts_, rank, blocks)) * per_byte;
}

void Simulation::arrive(const Arrival& arrival) {
  const auto [first, number] = arrival;
  const Message& message = schedule_.messages()[number];
  double& until = port(message.to, message).receives_until;
  arrived_[number] = std::max(first, until) + length(message);
  until = arrived_[number] + figures(message).gap;
  go_on(message.to);
}

}  // namespace

Result<std::vector<double>> simulate(std::span<const TaskList> lists,
                                     std::span<const Layout> layouts, const Machine& machine) {
  const auto schedule = Schedule::of(lists);
  if (!schedule) return fail(schedule.error());
  auto runs = schedule->run([](int, const Step&) {}, [](std::uint32_t) {});
  if (!runs) return fail(std::move(runs.error()));
  return Simulation(*schedule, layouts, machine).run();
}

}  // namespace scela::collectives
