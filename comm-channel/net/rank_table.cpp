#include "comm-channel/net/rank_table.h"

#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace scela::channel {

using connect::PeerAddress;
using connect::PeerId;

Remote& RankTable::add(int rank) {
  auto& place = remotes_[static_cast<std::size_t>(rank)];
  place = std::make_unique<Remote>(rank);
  Remote& added = *place;
  const Result<std::string> said = card_of_(rank);
  const std::size_t theirs = said ? said->size() / sizeof(PeerAddress) : 0;
  if (theirs != 0 && theirs <= kMaxPorts && said->size() % sizeof(PeerAddress) == 0) {
    added.paths.set_ports(std::min(ports_.size(), theirs));
    for (std::size_t port = 0; port < added.paths.ports(); ++port) {
      PeerAddress address;
      std::memcpy(&address, said->data() + port * sizeof address, sizeof address);
      added.paths.set_id(port, ports_[port].add(address));
    }
  } else {
    lose(added, said ? std::string("what it has said of itself is of another version of libscela")
                     : said.error().text());
  }
  return added;
}

Remote* RankTable::of_peer(std::size_t port, PeerId peer) {
  const connect::Name& name = ports_[port].peers().address(peer).name;
  if (name.job != ports_[port].address().name.job || name.rank >= remotes_.size()) return nullptr;
  Remote& found = at(static_cast<int>(name.rank));
  if (found.paths.id(port) == connect::kNone) found.paths.set_id(port, peer);
  return &found;
}

void RankTable::lose(Remote& remote, std::string why, Notify notify) {
  if (remote.lost) return;
  remote.lost = true;
  turns_.end(remote.rank);
  lost_.push_back({remote.rank, std::move(why), device_.looks().mark()});
  if (notify == Notify::yes) give_up(remote);
}

void RankTable::give_up(const Remote& remote) {
  if (remote.paths.id() != connect::kNone) ports_.first().give_up(remote.paths.id());
}

// The adapter's engine has ended, the system has removed the device, or it does not do what it is
// told.
void RankTable::lose_device(const std::string& why) {
  if (!device_.works()) return;
  device_.note_gone();
  if (ports_.is_leaving()) return;  // nothing is waited for any more
  const verbs::Capability& capability = device_.device().capability;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (world_.node_of[static_cast<std::size_t>(rank)] == world_.node()) continue;
    lose(at(rank), cat("this node's adapter is gone: ", capability.device, " of ",
                       capability.library, " has ended, or was taken away (", why, ")"));
  }
}

bool RankTable::is_receiving(int rank) const {
  const Remote* const remote = known(rank);
  const PeerId id = remote != nullptr ? remote->paths.id() : connect::kNone;
  return device_.works() && id != connect::kNone && ports_.first().is_receiving(id);
}

// Returns whether the messages that the rank sent before it was lost have been received.
bool RankTable::is_known_to_the_last(const Loss& loss) const {
  return device_.looks().has_passed(loss.known) && !is_receiving(loss.rank);
}

unsigned RankTable::report_losses(NetworkUser& user) {
  unsigned count = 0;
  // The user may add to lost_.
  for (std::size_t i = 0; i < lost_.size();) {
    if (!is_known_to_the_last(lost_[i])) {
      ++i;
      continue;
    }
    const Loss loss = std::move(lost_[i]);
    lost_.erase(lost_.begin() + static_cast<std::ptrdiff_t>(i));
    ++count;
    user.lost(loss.rank, loss.why);
  }
  return count;
}

}  // namespace scela::channel
