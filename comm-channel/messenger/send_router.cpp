#include "comm-channel/messenger/send_router.h"

#include <algorithm>

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

SendRouter::SendRouter(const ChannelOptions& options, Peers& peers, const Transports& transports,
                       PendingTransfers& pending, SendQueue& send_queue,
                       RendezvousSender& rendezvous, Loopback& loopback, OffloadPath& offload)
    : options_(options),
      peers_(peers),
      transports_(transports),
      pending_(pending),
      send_queue_(send_queue),
      rendezvous_(rendezvous),
      loopback_(loopback),
      offload_(offload) {}

void SendRouter::begin(Operation& send) {
  const int to = send.peer;
  if (to == peers_.own_rank()) return loopback_.send(send);
  if (peers_.has_ended(to)) return send.finish(transports_.error_of_end(to));
  const bool on_node = peers_.is_local(to);
  if (!on_node && offload_.send(send)) return peers_.count_sent(to, send.length);
  const bool eager = send.length <= eager_limit(send);
  if (!eager && !rendezvous_.prepare(send)) return;
  // A message outside of channels follows what this says about channels.
  if (!on_node) offload_.outside(send);
  if (!eager) return rendezvous_.offer(send);
  if (send.synchronous && pending_.add(send) == 0) return send.finish(error_of_numbers(to));
  send_queue_.enqueue_eager(send);
}

// A synchronous message has its number in its first header, where a message in fragments has its
// length.
std::size_t SendRouter::eager_limit(const Operation& send) const {
  if (peers_.is_local(send.peer))
    return send.synchronous ? options_.eager.shm
                            : std::max(options_.eager.shm, options_.fragmented_shm);
  const NetworkTraffic* const network = transports_.network();
  return network != nullptr && network->takes_eager(send.peer) ? options_.eager.verbs : 0;
}

}  // namespace scela::channel
