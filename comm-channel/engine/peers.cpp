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

void Peers::account(Accounts& accounts) const {
  for (const Peer& one : peers_) {
    accounts.messages_sent += one.accounts.messages_sent;
    accounts.messages_received += one.accounts.messages_received;
    accounts.sent += one.accounts.sent;
    accounts.received += one.accounts.received;
  }
}

}  // namespace scela::channel
