#include "comm-channel/engine/peers.h"

#include <utility>

namespace scela::channel {

Peers::Peers(const World& world, bool has_shared_memory)
    : world_(world),
      ranks_here_(world.ranks_of(world.node())),
      peers_(static_cast<std::size_t>(world.size)) {
  if (!has_shared_memory) return;
  for (std::size_t local = 0; local < ranks_here_.size(); ++local)
    at(ranks_here_[local]).local = static_cast<std::int32_t>(local);
}

void Peers::leave_node() {
  for (Peer& one : peers_)
    one.local = -1;
}

void Peers::record_end(int rank, std::string why) {
  Peer& gone = at(rank);
  gone.ended = true;
  gone.why = std::move(why);
  ended_.push_back(rank);
}

void Peers::add_counters(Counters& counters) const {
  for (const Peer& one : peers_) {
    counters.messages_sent += one.counters.messages_sent;
    counters.messages_received += one.counters.messages_received;
    counters.bytes_sent += one.counters.bytes_sent;
    counters.bytes_received += one.counters.bytes_received;
  }
}

}  // namespace scela::channel
