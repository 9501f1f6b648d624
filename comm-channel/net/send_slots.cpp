#include "comm-channel/net/send_slots.h"

namespace scela::channel {

SendSlot SendSlots::of_messages(Remote& remote) {
  PortLinks& port = ports_.first();
  const connect::PeerId id = remote.paths.id();
  SendSlot slot;
  slot.route = port.route(id);
  if (!slot.route) {
    // A request for a connection while leaving would be refused, and the peer would be lost.
    if (ports_.is_leaving() ||
        (remote.attempt.has_failed() && device_.now() < remote.attempt.asks_after()) ||
        !turns_.begin(remote.rank))
      return {};
    receives_.connect(remote);
    if (!remote.attempt.is_wanted()) remote.attempt.begin(device_.now());
    port.tell(connect::event::Wanted{id});
    slot.route = port.route(id);
    if (!slot.route) return {};
  }
  turns_.end(remote.rank);
  remote.attempt.succeed();
  PortPair* const pair = port.pairs().pair(slot.route.qp);
  if (remote.paths.must_wait_for_others(pair)) return {};
  if (!pair->broken && pair->under_way < kPairDepth && under_way_ < kMaxUnderWay) slot.pair = pair;
  return slot;
}

SendSlot SendSlots::of_moves(Remote& remote, std::size_t index) {
  PortLinks& port = ports_[index];
  const connect::PeerId id = remote.paths.id(index);
  SendSlot slot;
  slot.route = port.route(id);
  if (!slot.route) {
    if (ports_.is_leaving() || device_.now() < remote.paths.paused_until(index)) return {};
    port.tell(connect::event::Wanted{id});
    slot.route = port.route(id);
    if (!slot.route) return {};
  }
  PortPair* const pair = port.pairs().pair(slot.route.qp);
  if (!pair->broken && pair->under_way < kPairDepth) slot.pair = pair;
  return slot;
}

}  // namespace scela::channel
