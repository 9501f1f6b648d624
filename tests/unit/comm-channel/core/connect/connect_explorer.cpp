#include "tests/unit/comm-channel/core/connect/connect_explorer.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "common/core/bytes.h"

namespace scela::channel::connect::test {
namespace {

enum class Do : std::uint8_t {
  deliver,
  lose,
  copy,
  wake,
  want,
  leave,
  die,
  tell,
  drained,
  broken,
  failing,
  late,     // the next queue pair is connected later
  connect,  // queue pairs that are late
};
constexpr const char* kNames[] = {"deliver", "lose", "copy",   "wake",    "want",
                                  "leave",   "die",  "tell",   "drained", "broken",
                                  "failing", "late", "connect"};

struct Step {
  Do what = Do::deliver;
  std::uint8_t process = 0, other = 0;
};

struct State {
  World world;
  std::uint32_t wanted = 0, left = 0;  // bits of what the scenario asked for
  int losses = 0, copies = 0, deaths = 0, early = 0, breaks = 0, failing = 0, late = 0;
  // One bit for each lost connection that is wanted again: process * 4 + peer.
  std::uint32_t again = 0;
};

std::uint64_t hash(const std::string& bytes) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char byte : bytes) {
    value ^= static_cast<unsigned char>(byte);
    value *= 0x100000001b3u;
    value ^= value >> 29;
  }
  return value;
}

void put(ByteWriter& out, const Process& process) {
  out.u8(static_cast<std::uint8_t>(process.dead | process.left << 1 | process.leaving << 2));
  if (process.gone()) return;
  process.machine.snapshot(out, process.clock);
  out.u32(process.numbers);
  for (const DeviceQp& qp : process.qps) {
    out.u8(static_cast<std::uint8_t>(qp.kind));
    out.u32(qp.number);
    out.u32(qp.far);
  }
  for (std::size_t peer = 0; peer < process.outcomes.size(); ++peer) {
    out.u8(static_cast<std::uint8_t>(process.outcomes[peer]));
    out.u8(static_cast<std::uint8_t>(process.draining[peer] | process.told[peer] << 1));
  }
}

std::uint64_t fingerprint(const State& state) {
  ByteWriter out;
  for (const Process& process : state.world.processes)
    put(out, process);
  for (const Target& target : state.world.targets) {
    out.u32(target.number);
    out.u32(target.holders);
  }
  for (const Datagram& datagram : state.world.network) {
    out.u32(datagram.to);
    out.raw(datagram.bytes);
  }
  for (const auto& [number, action] : state.world.connected_late) {
    out.u32(number);
    out.u32(action.qp);
  }
  out.u32(state.wanted);
  out.u32(state.left);
  out.u32(state.again);
  for (const int budget :
       {state.losses, state.copies, state.deaths, state.early, state.breaks, state.failing,
        int{state.world.failing}, state.late, int{state.world.late}}) {
    out.u8(static_cast<std::uint8_t>(budget));
  }
  return hash(out.bytes());
}

class Explorer {
 public:
  Explorer(const Scenario& scenario, Transitions* transitions)
      : scenario_(scenario), transitions_(transitions) {}

  Explored run() {
    State first{World(scenario_.nodes, scenario_.options)};
    first.world.transitions = transitions_;
    first.losses = scenario_.losses;
    first.copies = scenario_.copies;
    first.deaths = scenario_.deaths;
    first.early = scenario_.early;
    first.breaks = scenario_.breaks;
    first.failing = scenario_.failing;
    first.late = scenario_.late;
    // A process may give up a connection while the answer is on its way. That leaves a dead queue
    // pair until the other process is told.
    first.world.died_once = gives_up_early();
    visit(std::move(first), 0, {});
    while (!queue_.empty() && explored_.wrong.empty()) {
      const auto [state, index] = std::move(queue_.front());
      queue_.pop_front();
      const std::vector<Step> steps = steps_of(state);
      for (const Step step : steps) {
        State next = state;
        apply(next, step);
        visit(std::move(next), index, step);
        if (!explored_.wrong.empty()) break;
      }
    }
    return explored_;
  }

 private:
  struct Came {
    std::uint32_t from = 0;
    Step step;
  };

  // Returns true if a process may give up a request before its answer arrives.
  bool gives_up_early() const { return scenario_.early >= scenario_.options.tries; }

  void visit(State&& state, std::uint32_t from, Step step) {
    if (!seen_.insert(fingerprint(state)).second) return;
    const auto index = static_cast<std::uint32_t>(came_.size());
    came_.push_back({from, step});
    ++explored_.states;
    const bool rest = is_at_rest(state);
    explored_.rests += rest;
    std::string wrong = state.world.judge(rest);
    if (wrong.empty()) wrong = judge(state, rest);
    if (explored_.states > scenario_.max_states) wrong = "more states than expected";
    if (!wrong.empty()) {
      explored_.wrong = wrong + "\nafter: " + path_to(index);
      return;
    }
    queue_.emplace_back(std::move(state), index);
  }

  std::string path_to(std::uint32_t index) const {
    std::vector<Step> steps;
    for (; index != 0; index = came_[index].from)
      steps.push_back(came_[index].step);
    std::reverse(steps.begin(), steps.end());
    std::string text;
    State state{World(scenario_.nodes, scenario_.options)};
    for (const Step step : steps) {
      text += std::string("\n  ") + kNames[static_cast<int>(step.what)] + " " +
              std::to_string(step.process) + " " + std::to_string(step.other);
      if (step.what == Do::deliver || step.what == Do::lose || step.what == Do::copy) {
        const Datagram& datagram = state.world.network[step.process];
        const auto shake = decode(datagram.bytes);
        text += " (" + std::string(name_of(shake->said)) + " " + std::to_string(shake->number) +
                " to " + std::to_string(datagram.to) + ")";
      }
      apply(state, step);
    }
    return text;
  }

  // Returns true if nothing more happens until a process wants something or an accident comes.
  bool is_at_rest(const State& state) const {
    if (!state.world.network.empty() || !state.world.connected_late.empty()) return false;
    for (std::uint32_t number = 0; number < state.world.processes.size(); ++number) {
      const Process& process = state.world.processes[number];
      if (process.gone()) continue;
      if (process.machine.next_wake()) return false;
      for (PeerId peer = 0; peer < state.world.processes.size(); ++peer) {
        if (process.draining[peer] != 0) return false;
        if (state.world.processes[peer].gone() && process.told[peer] == 0) return false;
      }
    }
    return true;
  }

  std::string judge(const State& state, bool rest) const {
    const World& world = state.world;
    for (std::uint32_t number = 0; number < world.processes.size(); ++number) {
      const Process& process = world.processes[number];
      if (process.left) {
        for (const DeviceQp& qp : process.qps) {
          if (qp.kind != DeviceQp::Kind::none) return std::to_string(number) + " left a queue pair";
        }
      }
      if (process.gone()) continue;
      if (rest && process.leaving) return std::to_string(number) + " leaves, and is never through";
      const std::size_t most = scenario_.options.max_links != 0 ? scenario_.options.max_links
                               : world.mode == Mode::pairs      ? world.processes.size() - 1
                                                                : process.machine.peers().nodes();
      if (process.machine.counts().links > most + (world.mode == Mode::pairs))
        return std::to_string(number) + " has too many connections";
      for (PeerId peer = 0; rest && peer < world.processes.size(); ++peer) {
        const std::string wrong = judge_outcome(world, process, peer);
        if (!wrong.empty())
          return std::to_string(number) + " -> " + std::to_string(peer) + ": " + wrong;
      }
    }
    return {};
  }

  std::string judge_outcome(const World& world, const Process& process, PeerId peer) const {
    const Process& other = world.processes[peer];
    if (process.outcomes[peer] == Outcome::wanted) return "is wanted, and nothing comes of it";
    if (process.outcomes[peer] != Outcome::failed) return {};
    switch (process.failures[peer]) {
      case Failure::ended:
        return other.gone() ? "" : "is said to have ended, and has not";
      case Failure::leaving:
        return process.leaving || other.leaving || other.gone() ? "" : "is said to leave";
      case Failure::unreachable:
        return other.gone() || other.leaving || process.leaving || gives_up_early()
                   ? ""
                   : "is said not to answer";
      case Failure::resources:
      case Failure::refused:
        return world.failed_once ? "" : "is said to lack resources";
      case Failure::mode:
        break;
    }
    return "is said to be of another kind";
  }

  std::vector<Step> steps_of(const State& state) const {
    std::vector<Step> steps;
    const World& world = state.world;
    const auto add = [&steps](Do what, std::size_t process, std::size_t other = 0) {
      steps.push_back({what, static_cast<std::uint8_t>(process), static_cast<std::uint8_t>(other)});
    };
    for (std::size_t i = 0; i < world.network.size(); ++i) {
      if (i > 0 && world.network[i] == world.network[i - 1]) continue;
      add(Do::deliver, i);
      if (state.losses > 0) add(Do::lose, i);
      if (state.copies > 0) add(Do::copy, i);
    }
    for (std::size_t i = 0; i < scenario_.wants.size(); ++i) {
      if ((state.wanted >> i & 1) == 0 && !world.processes[scenario_.wants[i].first].gone() &&
          !world.processes[scenario_.wants[i].first].leaving) {
        add(Do::want, i);
      }
    }
    for (std::size_t i = 0; i < scenario_.leaves.size(); ++i) {
      if ((state.left >> i & 1) == 0 && !world.processes[scenario_.leaves[i]].gone())
        add(Do::leave, i);
    }
    for (const std::uint32_t number : scenario_.mortal) {
      if (state.deaths > 0 && !world.processes[number].gone()) add(Do::die, number);
    }
    if (state.failing > 0 && world.failing == 0) add(Do::failing, 0);
    if (state.late > 0 && world.late == 0) add(Do::late, 0);
    if (!world.connected_late.empty()) add(Do::connect, 0);
    for (std::size_t number = 0; number < world.processes.size(); ++number)
      steps_of_process(state, number, add);
    return steps;
  }

  template <class Add>
  void steps_of_process(const State& state, std::size_t number, const Add& add) const {
    const World& world = state.world;
    const Process& process = world.processes[number];
    if (process.gone()) return;
    const bool coming = !world.network.empty() || !world.connected_late.empty();
    if (process.machine.next_wake() && (!coming || state.early > 0)) add(Do::wake, number);
    for (PeerId peer = 0; peer < world.processes.size(); ++peer) {
      if (world.processes[peer].gone() && process.told[peer] == 0) add(Do::tell, number, peer);
      if (process.draining[peer] != 0) add(Do::drained, number, peer);
      if (process.outcomes[peer] == Outcome::lost &&
          (state.again >> (number * 4 + peer) & 1) == 0) {
        add(Do::want, 100 + number, peer);
      }
      const Route route = process.machine.peers().route(peer);
      if (route && process.machine.peers().address(peer).name.rank < 100 &&
          (state.breaks > 0 || !world.is_alive(static_cast<std::uint32_t>(number), route.qp))) {
        add(Do::broken, number, route.qp);
      }
    }
  }

  void apply(State& state, Step step) const {
    World& world = state.world;
    switch (step.what) {
      case Do::deliver:
        return world.deliver(step.process);
      case Do::lose:
        --state.losses;
        world.network.erase(world.network.begin() + step.process);
        return;
      case Do::copy:
        --state.copies;
        return world.deliver(step.process, true);
      case Do::wake:
        if (!world.network.empty() || !world.connected_late.empty()) --state.early;
        world.processes[step.process].clock = *world.processes[step.process].machine.next_wake();
        return world.give(step.process, event::Timer{});
      case Do::want: {
        const bool again = step.process >= 100;
        const std::uint32_t number =
            again ? step.process - 100U : scenario_.wants[step.process].first;
        const PeerId peer = again ? step.other : scenario_.wants[step.process].second;
        (again ? state.again : state.wanted) |= 1U << (again ? number * 4 + peer : step.process);
        if (!world.processes[number].machine.peers().route(peer))
          world.processes[number].outcomes[peer] = Outcome::wanted;
        return world.give(number, event::Wanted{peer});
      }
      case Do::leave: {
        state.left |= 1U << step.process;
        const std::uint32_t number = scenario_.leaves[step.process];
        world.processes[number].leaving = true;
        return world.give(number, event::Leave{});
      }
      case Do::die:
        --state.deaths;
        return world.die(step.process);
      case Do::tell:
        world.processes[step.process].told[step.other] = 1;
        return world.give(step.process, event::PeerEnded{step.other});
      case Do::drained:
        world.processes[step.process].draining[step.other] = 0;
        return world.give(step.process, event::Drained{step.other});
      case Do::broken:
        if (world.is_alive(step.process, step.other)) --state.breaks;
        // A queue pair has died, and no process has been told.
        world.died_once = true;
        return world.give(step.process, event::Broken{step.other});
      case Do::failing:
        --state.failing;
        world.failing = 1;
        return;
      case Do::late:
        --state.late;
        world.late = 1;
        return;
      case Do::connect:
        return world.connect_late();
    }
  }

  const Scenario& scenario_;
  Transitions* transitions_;
  std::deque<std::pair<State, std::uint32_t>> queue_;
  std::vector<Came> came_;
  std::unordered_set<std::uint64_t> seen_;
  Explored explored_;
};

}  // namespace

Explored explore(const Scenario& scenario, Transitions* transitions) {
  return Explorer(scenario, transitions).run();
}

}  // namespace scela::channel::connect::test
