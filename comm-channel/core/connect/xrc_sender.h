// The sending side of XRC: one send queue pair, a *link*, for each node that this process sends to.
// Machine (connection_machine.h) owns one object and hands it events and answers of peers.
//
// A peer of a node is a *destination*. The link of the node needs a receive queue pair there (its
// far end): one destination, the direct peer, is asked to make it (`connect`). The others are asked
// for the numbers of their shared receive queues, and to hold the far end too (`join`). With
// Mode::owned they need not hold it.
//
// Beyond Options::max_links, links wait in a queue, and the least recently used link is drained and
// closed for them. Parameters named `peer` and `node` are known to the peer table. The class is a
// plain value that works on a LocalEnd, and not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/link_state.h"
#include "comm-channel/core/connect/local_end.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela::channel::connect {

class XrcSender : public LocalEndUser {
 public:
  explicit XrcSender(LocalEnd& end) : LocalEndUser(end) {}

  // Makes place for the peers and nodes that the peer table knows.
  void grow();
  // Forgets the state of a peer that has started anew. Its end was reported before.
  void forget(PeerId peer) { destinations_[peer] = {}; }

  // Begins to make the link to the peer's node, or to join the peer to it, because the process has
  // something to send. Success is reported by action::Ready, a failure by action::Failed.
  void want(PeerId peer);
  // Notes that the link to the peer's node was used. Called for each message.
  void mark_used(PeerId peer) { links_[local().peers().node_of(peer)].used = ++uses_; }
  // Goes on with draining: all requests that were posted for the peer are complete.
  void on_drained(PeerId peer);

  // Take the shell's answers to actions on the queue pair of a link: go on with the handshake, or
  // give the link up.
  void on_qp_made(NodeIndex node, const event::QpMade& made);
  void on_qp_connected(NodeIndex node);
  void on_qp_failed(NodeIndex node);
  // Ends the link: its queue pair is in the error state. Posted requests are reported as lost.
  void on_qp_broken(NodeIndex node);

  // Handle the answers of a peer to requests of this process. Late answers are recognized by their
  // number.
  void on_accept(PeerId peer, const Handshake& shake);
  void on_joined(PeerId peer, const Handshake& shake);
  void on_refuse(PeerId peer, const Handshake& shake);
  void on_closed(PeerId peer, std::uint32_t number);
  // Handles `leave` of a peer, which is about to end: ends the request of that number, or the route
  // that it made. Answers `close` if there is neither.
  void on_leave(PeerId peer, std::uint32_t number);
  // Gives up a request of that kind, which was sent often enough without an answer. resend() sends
  // the active request once more.
  void on_unanswered(PeerId peer, HandshakeKind kind);
  void resend(PeerId peer);
  // Removes a peer that has ended, which the peer table has noted, from its link.
  void on_peer_ended(PeerId peer);
  // Reports to all peers of the node that wait for the link that messages for them fail.
  void fail_waiting(NodeIndex node, Failure why);
  // Drains all links, and fails the peers that wait, because this process ends.
  void leave();

  PeerState state_of(PeerId peer) const { return destinations_[peer].state; }
  LinkState link_of(NodeIndex node) const { return links_[node].state; }
  // Returns true if the peer is the direct peer of its node's link.
  bool is_direct(PeerId peer) const;
  struct Counts {
    std::uint64_t joins = 0;        // peers that share an existing link
    std::uint64_t closed_idle = 0;  // links closed to make room for others
  };
  const Counts& counts() const { return counts_; }
  // Writes the state that decides what this part does next (Machine::snapshot()).
  void snapshot(ByteWriter& out) const;

 private:
  // A peer's share in the link. Each kind includes the kinds before it.
  enum class Membership : std::uint8_t {
    none,        // it has not answered the request `number`, or has let go
    registered,  // it has answered, with the number of its shared receive queue
    member,      // it holds the far end of the link
  };
  struct Destination {
    PeerState state = PeerState::idle;
    bool wanted_again = false;  // a route is wanted after draining
    Membership membership = Membership::none;
    std::uint32_t number = 0;  // of the last request to the peer
    std::uint32_t srq = 0;     // number of its shared receive queue
    bool is_registered() const { return membership != Membership::none; }
    bool is_member() const { return membership == Membership::member; }
  };
  // `used` and `turn` order links by their last use and by the time at which they were queued.
  struct Link {
    LinkState state = LinkState::none;
    QpId qp = kNone;
    std::uint32_t number = 0, psn = 0;  // the device's, of this end
    PeerId direct = kNone;
    PeerId prefer = kNone;     // the peer to be asked first
    std::uint32_t target = 0;  // the device's number of the far end
    std::uint64_t used = 0, turn = 0;
  };

  Link& link_to(PeerId peer) { return links_[local().peers().node_of(peer)]; }
  // Queues the link of a node with a waiting peer, or joins the waiting peers to a ready link.
  void advance(NodeIndex node);
  // Makes queued links in the order of their turns, as long as max_links permits, and drains others
  // for the rest.
  void make_queued();
  // Drains the least recently used link. Returns false if no link can be drained, or if as many
  // links are draining as are queued.
  bool make_room();
  // Asks the next waiting peer to become the direct peer. Ends the link if no peer waits.
  void choose_direct(NodeIndex node);
  // Sends `connect` or `join` with a new number, until it is answered.
  void request(PeerId peer, HandshakeKind kind, std::uint8_t tries = 0);
  void join_waiting(NodeIndex node);
  // Sets the route of the peer over the ready link.
  void make_ready(PeerId peer);
  // Notifies the peer, until it answers, that it may let go of what it holds for this process.
  void release(PeerId peer);
  // Removes the route of one peer, or of all peers of the link, and waits for its posted requests.
  // A link that is not ready is left as it is.
  void drain_peer(PeerId peer);
  void drain_link(NodeIndex node);
  // Ends a draining link if no peer of it is draining any more.
  void end_if_drained(NodeIndex node);
  // Closes the queue pair of a link that no peer uses. Waiting peers get a new link.
  void end_link(NodeIndex node);
  // Ends a ready link if no peer holds its far end and none is joining it.
  void end_if_unused(NodeIndex node);
  // Reports to the process that messages for the peer fail. Changes no link.
  void fail(PeerId peer, Failure why);

  std::vector<Destination> destinations_;  // by PeerId
  std::vector<Link> links_;                // by NodeIndex
  std::uint32_t numbers_ = 0;              // the last request number that was used
  std::uint64_t turns_ = 0, uses_ = 0;     // counters of Link::turn, used
  Counts counts_;
};

}  // namespace scela::channel::connect
