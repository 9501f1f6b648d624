// The messages of one process: how sends, receives and arrivals act on each other. The messenger
// moves what can be moved at once and never waits; comm-channel/api/channel.cpp waits.
//
// It is made of parts, which have their state for themselves. A send goes through SendRouter to
// SendQueue, RendezvousSender, Loopback or OffloadPath; a receive, and each message that comes,
// through ReceiveQueue, Reassembler or Transfers. The messenger connects these parts, passes them
// what the transports bring, and carries out the ends of ranks, and of this process.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/detached_operations.h"
#include "comm-channel/engine/guarded_copy.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/pool.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/engine/unexpected_store.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/messenger/awaited_ranks.h"
#include "comm-channel/messenger/group_receives.h"
#include "comm-channel/messenger/loopback.h"
#include "comm-channel/messenger/match_queue.h"
#include "comm-channel/messenger/offload_events.h"
#include "comm-channel/messenger/offload_path.h"
#include "comm-channel/messenger/reassembler.h"
#include "comm-channel/messenger/rendezvous_receiver.h"
#include "comm-channel/messenger/rendezvous_sender.h"
#include "comm-channel/messenger/send_queue.h"
#include "comm-channel/messenger/send_router.h"
#include "comm-channel/messenger/transfers.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

class Messenger final : private NetworkUser {
 public:
  // `node` is null if this process is alone on its node. `network` is null if there are no other
  // nodes.
  Messenger(const World& world, const ChannelOptions& options, std::unique_ptr<shm::NodeLink> node,
            std::unique_ptr<Network> network);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  ~Messenger();

  // These return a send to the rank `to`, or a receive, that has not begun. `source` and `tag` of a
  // receive may be kAnySource and kAnyTag. The caller keeps the bytes until the operation is
  // complete, and gives it back with release().
  Operation& send_operation(int to, int tag, std::span<const std::byte> bytes, Context context);
  Operation& receive_operation(int source, int tag, std::span<std::byte> bytes, Context context);
  // Starts the operation; it may be complete at once. A persistent one is started again and again.
  void begin(Operation& operation);
  // Gives the operation back to the pool. It must be complete, or must not have begun.
  void release(Operation& operation);
  // Completes a receive that waits with Code::cancelled, and returns true. Returns false if the
  // operation is a send, if it was matched already, or if that is not known yet. In the last case
  // it ends later with its message, or as cancelled.
  bool cancel(Operation& operation);
  // The user of the operation knows ranks by their numbers in the group. It may have begun.
  void set_group(Operation& operation, std::shared_ptr<const RankGroup> group);
  // No request names the operation any more: it is given back once it is complete.
  void detach(Operation& operation);

  // Sends a small message to a rank of this node if nothing has to be waited for. Returns false if
  // the message must become an operation.
  bool send_at_once(int to, int tag, std::span<const std::byte> bytes, Context context) {
    return send_queue_.send_at_once(to, tag, bytes, context);
  }

  // Both return null if no message fits the pattern yet. take() also removes the message, so that
  // no other receive gets it; receive() or drop() must follow.
  Unexpected* probe(const Pattern& pattern) { return receive_queue_.probe(pattern); }
  Unexpected* take(const Pattern& pattern) { return receive_queue_.take(pattern); }
  // Moves a message that was taken into the receive, which completes when the bytes are there.
  void receive(Operation& operation, Unexpected& unexpected) {
    receive_queue_.receive(operation, unexpected);
  }
  // Drops a message that was taken and will not be received. Its sender is told the outcome: by
  // default, that the message has arrived.
  void drop(Unexpected& unexpected, Outcome outcome = Outcome::none) {
    receive_queue_.drop(unexpected, outcome);
  }
  // discard() drops the messages of `count` contexts from `first` on: those that have come, and
  // those that poll() finds later. After accept(), messages that come are kept again.
  void discard(Context first, Context count = 1) { receive_queue_.discard(first, count); }
  void accept(Context first, Context count) { receive_queue_.accept(first, count); }
  // Returns how many unwanted messages poll() has looked at for that.
  std::uint64_t unwanted_looks() const { return receive_queue_.unwanted_looks(); }

  // Moves all that can be moved, without waiting. Returns how many messages came and how many moves
  // of bytes ended, plus one if a message that had waited for room was sent. 0: nothing has
  // changed.
  unsigned poll();
  // Returns whether something waits to be sent because it has no room.
  bool blocked() const { return send_queue_.blocked(); }
  // Returns whether something that others wait for waits to be sent. Messages about offloaded
  // channels do not count.
  bool owes() const { return send_queue_.owes(); }
  // Finds ranks of this node that have ended since the last call, and fails what waits for them.
  void notice_ends();
  // Does so for ranks of other nodes that `failed` reports.
  template <class Failed>
  void notice_failures(const Failed& failed) {
    for (int rank = 0; rank < peers_.size(); ++rank)
      if (!peers_.is_local(rank) && rank != peers_.own_rank() && !has_ended(rank) && failed(rank)) {
        ended_elsewhere(rank);
      }
  }
  // Asks `left` whether ranks of other nodes have ended well. It asks about ranks that a receive or
  // a probe waits for, if no connection shows their end. It asks about a limited number at a time.
  // Returns false if there was no rank to ask about. There must be a network.
  template <class Left>
  bool notice_leavers(const Left& left) {
    const std::vector<int> awaited = awaited_ranks_.next_unconnected(*network());
    for (const int rank : awaited)
      if (left(rank)) ended_elsewhere(rank);
    return !awaited.empty();
  }
  // Notes that the caller probed for a message of the rank and found none.
  void probed_in_vain(int rank) { awaited_ranks_.probed_in_vain(rank); }
  // Fails all operations that wait for a rank that has ended, or that cannot be reached (`why` is
  // not empty). Must be called only once for a rank.
  void ended(int rank, std::string why = {});
  // Fails receives from any source if all other ranks have ended. A caller that waits and has
  // nothing to move calls this.
  void notice_solitude();
  // Returns true if all other ranks have ended, and there were others.
  // With a group, this is so for its ranks.
  bool nobody_left(const RankGroup* group = nullptr) const {
    return group == nullptr || group->is_whole()
               ? peers_.all_others_ended()
               : group->nobody_left([this](int rank) { return has_ended(rank); });
  }
  // Drops, before the process ends, what others need not wait for.
  void finish();
  // Ends the receives of open requests if their messages have not come. Tells the senders of
  // messages that have come that nothing receives them. Returns true if nothing uses a buffer of
  // the program any more.
  bool end_requests();
  // Closes the messenger after end_requests(): what begins later fails. Returns how many operations
  // the program still has requests for.
  std::size_t close();
  bool has_ended(int rank) const { return peers_.has_ended(rank); }
  // Returns the error for operations that wait for a rank that has ended.
  Status peer_ended(int rank) const { return transports_.error_of_end(rank); }

  shm::NodeLink* node() { return transports_.node(); }
  Network* network() { return transports_.network(); }
  // Returns the counters of this process, and those of messages with one rank.
  Counters counters() const;
  const PeerCounters& counters(int rank) const { return peers_.counters(rank); }

 private:
  // NetworkUser has the contract of these functions (comm-channel/engine/network.h).
  void arrived(int rank, const Header& header, std::span<const std::byte> payload) override;
  void moved(Operation& operation, Outcome outcome) override;
  void lost(int rank, const std::string& why) override;
  // Calls ended() when no message of the rank, which is on another node, is on its way any more.
  void ended_elsewhere(int rank);

  // Each part refers to parts above and, where two refer to each other, to one below.
  Peers peers_;
  Transports transports_;
  Matcher matcher_;
  GuardedCopy guarded_copy_;
  Pool<Operation> operations_;
  UnexpectedStore unexpected_{matcher_};
  PendingTransfers pending_{transports_};
  ReceiveCompletion completion_{peers_, guarded_copy_};
  RendezvousSender rendezvous_sender_;
  SendQueue send_queue_;
  RendezvousReceiver rendezvous_receiver_;
  Loopback loopback_;
  Transfers transfers_;
  Reassembler reassembler_;
  OffloadEvents offload_events_;
  OffloadPath offload_;
  ReceiveQueue receive_queue_;
  SendRouter send_router_;
  AwaitedRanks awaited_ranks_{peers_, matcher_};
  GroupReceives group_receives_{peers_, matcher_};
  DetachedOperations detached_;
  const ChannelOptions& options_;
};

}  // namespace scela::channel
