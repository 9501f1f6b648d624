#include "tests/unit/comm-channel/core/connect/connect_world.h"

#include <algorithm>

#include "common/core/overloaded.h"

namespace scela::channel::connect::test {
namespace {

constexpr std::string_view kObjects[] = {"link", "peer", "hold", "pair"};
// A datagram has the name of what it says.
constexpr std::string_view kEvents[] = {"",        "connect", "accept",     "confirm",   "join",
                                        "joined",  "refuse",  "close",      "closed",    "leave",
                                        "wanted",  "time",    "made",       "connected", "failed",
                                        "drained", "broken",  "peer ended", "node lost", "leaving"};

int number_of(const Event& event) {
  if (const auto* datagram = std::get_if<event::Datagram>(&event)) {
    const auto shake = decode(datagram->bytes);
    return shake ? static_cast<int>(shake->said) : 0;
  }
  constexpr int kNumbers[] = {10, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  return kNumbers[event.index()];
}

std::string name_of_state(int object, int state) {
  switch (object) {
    case 0:
      return std::string(name_of(static_cast<LinkState>(state)));
    case 1:
      return std::string(name_of(static_cast<PeerState>(state)));
    case 2:
      return std::string(name_of(static_cast<XrcTargetState>(state)));
    default:
      return std::string(name_of(static_cast<PairState>(state)));
  }
}

std::vector<std::uint8_t> states_of(const Machine& machine) {
  std::vector<std::uint8_t> states;
  for (NodeIndex node = 0; node < machine.peers().nodes(); ++node)
    states.push_back(static_cast<std::uint8_t>(machine.link_of(node)));
  for (PeerId peer = 0; peer < machine.peers().size(); ++peer) {
    states.push_back(static_cast<std::uint8_t>(machine.state_of(peer)));
    states.push_back(static_cast<std::uint8_t>(machine.hold_of(peer)));
    states.push_back(static_cast<std::uint8_t>(machine.pair_of(peer)));
  }
  return states;
}

}  // namespace

std::string Transitions::text() const {
  std::string text;
  for (int object = 0; object < 4; ++object) {
    for (int from = 0; from < 9; ++from) {
      std::string next;
      for (int to = 0; to < 9; ++to) {
        std::string events;
        for (int event = 1; event < 20; ++event) {
          if (!seen_[index(object, from, event, to)]) continue;
          events += (events.empty() ? "" : ", ") + std::string(kEvents[event]);
        }
        if (events.empty()) continue;
        next += (next.empty() ? "" : "; ") + name_of_state(object, to) + " on " + events;
      }
      if (next.empty()) continue;
      text += "| " + std::string(kObjects[object]) + " | " + name_of_state(object, from) + " | " +
              next + " |\n";
    }
  }
  return text;
}

World::World(const std::vector<std::uint32_t>& nodes, const Options& options) : mode(options.mode) {
  std::vector<PeerAddress> cards;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    PeerAddress card;
    // There are two jobs. Their ranks have the same numbers.
    card.name = {7 + i % 2, i / 2};
    card.life = 1;
    card.node = 100 + nodes[i];
    card.address.qpn = i;
    cards.push_back(card);
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    Options own = options;
    own.srq = 1000 + i;
    processes.emplace_back(cards[i], own);
    Process& process = processes.back();
    process.node = nodes[i];
    for (const PeerAddress& card : cards)
      process.machine.add(card);
    process.outcomes.resize(nodes.size());
    process.failures.resize(nodes.size());
    process.draining.resize(nodes.size());
    process.told.resize(nodes.size());
  }
}

void World::give(std::uint32_t number, const Event& event) {
  tell(number, event);
  // Answers are events too. The actions that they cause come behind the actions that were queued
  // before.
  auto& actions = processes[number].machine.actions();
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const Action action = actions[i];
    carry_out(number, action);
  }
  actions.clear();
}

void World::tell(std::uint32_t number, const Event& event) {
  Process& process = processes[number];
  if (transitions == nullptr) return process.machine.handle(event, process.clock);
  const auto before = states_of(process.machine);
  process.machine.handle(event, process.clock);
  const auto after = states_of(process.machine);
  const std::size_t links = process.machine.peers().nodes();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    const int object = i < links ? 0 : 1 + static_cast<int>((i - links) % 3);
    transitions->note(object, before[i], number_of(event), after[i]);
  }
}

void World::carry_out(std::uint32_t number, const Action& action) {
  Process& process = processes[number];
  std::visit(Overloaded{
                 [&](const action::SendDatagram& send) {
                   const Datagram datagram{send.to.qpn, send.bytes};
                   network.insert(std::upper_bound(network.begin(), network.end(), datagram),
                                  datagram);
                 },
                 [&](const action::CreateSendQp& make) { create(number, make.qp, nullptr); },
                 [&](const action::CreateReceiveQp& make) { create(number, make.qp, &make); },
                 [&](const action::OpenReceiveQp& one) { open(number, one); },
                 [&](const action::ConnectQp& one) { connect(number, one); },
                 [&](const action::CloseQp& one) { close(number, one.qp); },
                 [&](const action::Ready& ready) { process.outcomes[ready.peer] = Outcome::ready; },
                 [&](const action::Drain& drain) { process.draining[drain.peer] = 1; },
                 [&](const action::Lost& lost) {
                   process.draining[lost.peer] = 0;
                   process.outcomes[lost.peer] = Outcome::lost;
                 },
                 [&](const action::Failed& failed) {
                   process.draining[failed.peer] = 0;
                   process.outcomes[failed.peer] = Outcome::failed;
                   process.failures[failed.peer] = failed.why;
                 },
                 [&](const action::WakeMe&) {},
                 [&](const action::Left&) { process.left = true; },
             },
             action);
}

void World::create(std::uint32_t number, QpId qp, const action::CreateReceiveQp* receive) {
  Process& process = processes[number];
  if (failing > 0) {
    --failing;
    failed_once = true;
    return tell(number, event::QpFailed{qp, false});
  }
  if (qp >= process.qps.size()) process.qps.resize(qp + 1);
  DeviceQp& made = process.qps[qp];
  made.kind = receive != nullptr ? DeviceQp::Kind::receive : DeviceQp::Kind::send;
  made.connected = false;
  made.number = number * 1000 + ++process.numbers;
  if (receive != nullptr) {
    made.far = receive->end.qpn;
    targets.push_back({made.number, made.far, number, process.node, 1U << (number % 32)});
  }
  tell(number, event::QpMade{qp, made.number, made.number % 7});
}

void World::open(std::uint32_t number, const action::OpenReceiveQp& open) {
  Process& process = processes[number];
  const auto target = std::find_if(targets.begin(), targets.end(), [&](const Target& one) {
    return one.number == open.number && one.node == process.node;
  });
  if (target == targets.end()) return tell(number, event::QpFailed{open.qp, true});
  target->holders |= 1U << (number % 32);
  if (open.qp >= process.qps.size()) process.qps.resize(open.qp + 1);
  process.qps[open.qp] = {DeviceQp::Kind::receive, false, target->number, target->far};
  tell(number, event::QpMade{open.qp, target->number, 0});
}

void World::connect_late() {
  for (const auto& [number, action] : std::exchange(connected_late, {})) {
    connect(number, action);
    // The timer carries out what the connection has led to.
    give(number, event::Timer{});
  }
}

void World::connect(std::uint32_t number, const action::ConnectQp& connect) {
  if (late > 0) {
    --late;
    connected_late.emplace_back(number, connect);
    return;
  }
  DeviceQp& qp = processes[number].qps[connect.qp];
  qp.far = connect.end.qpn;
  qp.connected = true;
  tell(number, event::QpConnected{connect.qp});
}

void World::close(std::uint32_t number, QpId qp) {
  auto& qps = processes[number].qps;
  if (qp >= qps.size() || qps[qp].kind == DeviceQp::Kind::none) return;
  std::erase_if(connected_late,
                [&](const auto& one) { return one.first == number && one.second.qp == qp; });
  if (qps[qp].kind == DeviceQp::Kind::receive) {
    for (Target& target : targets) {
      if (target.number == qps[qp].number) target.holders &= ~(1U << (number % 32));
    }
    std::erase_if(targets, [](const Target& target) { return target.holders == 0; });
  }
  qps[qp] = {};
}

void World::deliver(std::size_t index, bool keep) {
  const Datagram datagram = network[index];
  if (!keep) network.erase(network.begin() + static_cast<std::ptrdiff_t>(index));
  if (!processes[datagram.to].gone()) give(datagram.to, event::Datagram{datagram.bytes});
}

void World::die(std::uint32_t number) {
  Process& process = processes[number];
  process.dead = died_once = true;
  for (QpId qp = 0; qp < process.qps.size(); ++qp)
    close(number, qp);
  if (mode == Mode::owned)
    std::erase_if(targets, [&](const Target& target) { return target.maker == number; });
}

bool World::is_alive(std::uint32_t number, QpId id) const {
  const DeviceQp& qp = processes[number].qps[id];
  if (mode != Mode::pairs) {
    return std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
      return target.number == qp.far && target.far == qp.number;
    });
  }
  for (const Process& other : processes) {
    for (const DeviceQp& one : other.qps) {
      if (one.kind == DeviceQp::Kind::send && one.number == qp.far)
        return one.far == qp.number && one.connected;
    }
  }
  return false;
}

std::size_t World::queue_pairs() const {
  std::size_t count = targets.size();
  for (const Process& process : processes) {
    for (const DeviceQp& qp : process.qps)
      count += qp.kind == DeviceQp::Kind::send;
  }
  return count;
}

std::string World::judge_route(std::uint32_t number, PeerId peer, bool at_rest) const {
  const Process& process = processes[number];
  const Route route = process.machine.peers().route(peer);
  if (!route) return {};
  const std::string who = std::to_string(number) + " -> " + std::to_string(peer) + ": ";
  const DeviceQp& qp = process.qps[route.qp];
  if (qp.kind != DeviceQp::Kind::send || !qp.connected) return who + "its route is no connection";
  if (mode != Mode::pairs && route.srq != 1000 + peer) return who + "its route leads elsewhere";
  if (died_once && !at_rest) return {};
  if (!is_alive(number, route.qp)) return who + "its route leads to a dead queue pair";
  if (processes[peer].gone()) return who + "its route leads to a process that has ended";
  if (mode == Mode::shared) {
    const auto target = std::find_if(targets.begin(), targets.end(),
                                     [&](const Target& one) { return one.number == qp.far; });
    if ((target->holders >> (peer % 32) & 1) == 0) return who + "it is not held by whom it reaches";
  }
  return {};
}

// A process that is held at rest must be alive.
std::string World::judge_hold(std::uint32_t number, PeerId peer) const {
  const Process& process = processes[number];
  if (process.machine.hold_of(peer) == XrcTargetState::none) return {};
  const std::string who = std::to_string(number) + " holds for " + std::to_string(peer) + ": ";
  if (processes[peer].gone()) return who + "it has ended";
  return {};
}

std::string World::judge(bool at_rest) const {
  for (std::uint32_t number = 0; number < processes.size(); ++number) {
    const Process& process = processes[number];
    if (process.gone()) continue;
    for (PeerId peer = 0; peer < processes.size(); ++peer) {
      auto wrong = judge_route(number, peer, at_rest);
      if (wrong.empty() && at_rest) wrong = judge_hold(number, peer);
      if (!wrong.empty()) return wrong;
    }
  }
  if (!at_rest) return {};
  for (const Target& target : targets) {
    bool is_used = false;
    for (const Process& process : processes) {
      for (const DeviceQp& qp : process.qps) {
        is_used = is_used || (qp.kind == DeviceQp::Kind::send && qp.number == target.far &&
                              qp.far == target.number);
      }
    }
    if (!is_used) return "receive queue pair " + std::to_string(target.number) + " serves nobody";
  }
  return {};
}

}  // namespace scela::channel::connect::test
