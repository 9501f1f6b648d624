// Runs the processes of a connect_world.h in a random order, until nothing more happens.
#pragma once

#include <algorithm>

#include "common/core/random.h"
#include "tests/unit/comm-channel/core/connect/connect_world.h"

namespace scela::channel::connect::test {

struct Accidents {
  std::uint64_t lost = 0, copied = 0;  // in a hundred datagrams
};

class RandomRun {
 public:
  RandomRun(World& world, std::uint64_t seed, Accidents accidents = {})
      : world_(world), random_(seed), accidents_(accidents) {}

  void want(std::uint32_t process, PeerId peer) {
    if (world_.processes[process].machine.peers().route(peer)) return;
    world_.processes[process].outcomes[peer] = Outcome::wanted;
    give(process, event::Wanted{peer});
  }
  void kill(std::uint32_t victim) {
    world_.die(victim);
    for (std::uint32_t other = 0; other < world_.processes.size(); ++other) {
      if (!world_.processes[other].gone()) unreported_.push_back({other, victim});
    }
  }
  void leave(std::uint32_t process) { give(process, event::Leave{}); }
  void some(std::size_t steps) {
    while (steps-- > 0 && step()) {
    }
  }
  // Returns false if the processes do not come to rest.
  bool to_rest() {
    for (std::size_t steps = 0; step(); ++steps) {
      if (steps > 5'000'000) return false;
    }
    return true;
  }

 private:
  struct Word {
    std::uint32_t to = 0;
    PeerId about = 0;
  };

  void give(std::uint32_t process, const Event& event) {
    Process& one = world_.processes[process];
    one.clock = now_;
    world_.give(process, event);
    for (PeerId peer = 0; peer < one.draining.size(); ++peer) {
      if (one.draining[peer] == 0) continue;
      one.draining[peer] = 0;
      world_.give(process, event::Drained{peer});
    }
    for (PeerId peer = 0; peer < one.outcomes.size(); ++peer) {
      if (one.outcomes[peer] != Outcome::lost) continue;
      one.outcomes[peer] = Outcome::wanted;
      world_.give(process, event::Wanted{peer});
    }
  }

  bool step() {
    now_ += Time(1000);
    if (!unreported_.empty() && random_.chance(1, 20)) {
      const std::size_t which = random_.below(unreported_.size());
      const Word word = unreported_[which];
      unreported_.erase(unreported_.begin() + static_cast<std::ptrdiff_t>(which));
      if (!world_.processes[word.to].gone()) give(word.to, event::PeerEnded{word.about});
      return true;
    }
    if (world_.network.empty()) return wake() || !unreported_.empty();
    const std::size_t which = random_.below(world_.network.size());
    if (random_.chance(accidents_.lost, 100)) {
      world_.network.erase(world_.network.begin() + static_cast<std::ptrdiff_t>(which));
      return true;
    }
    const Datagram datagram = world_.network[which];
    if (!random_.chance(accidents_.copied, 100))
      world_.network.erase(world_.network.begin() + static_cast<std::ptrdiff_t>(which));
    if (!world_.processes[datagram.to].gone()) give(datagram.to, event::Datagram{datagram.bytes});
    return true;
  }

  bool wake() {
    std::uint32_t next = kNone;
    for (std::uint32_t process = 0; process < world_.processes.size(); ++process) {
      const Process& one = world_.processes[process];
      if (one.gone() || !one.machine.next_wake()) continue;
      if (next == kNone || *one.machine.next_wake() < *world_.processes[next].machine.next_wake()) {
        next = process;
      }
    }
    if (next == kNone) return false;
    now_ = std::max(now_, *world_.processes[next].machine.next_wake());
    give(next, event::Timer{});
    return true;
  }

  World& world_;
  Random random_;
  Accidents accidents_;
  std::vector<Word> unreported_;
  Time now_{};
};

}  // namespace scela::channel::connect::test
