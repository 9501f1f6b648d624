// Credit-based flow control: no process sends a message for which its receiver has posted no buffer
// (docs/design/channel.md, Credits). NetworkLink (comm-channel/net/network_link.h) owns one Flow.
//
// The buffers of a process are in one shared receive queue. The process grants each peer the use of
// some of them, and more to peers that send more. It asks for unused credits back if other peers
// have none. A sender without credit keeps its messages until it gets one.
//
// Messages about credit and answers have two reserved buffers for each peer. One is for such a
// message, which the peer acknowledges before the next such message. The other is for the
// acknowledgement.
//
// Flow does no input or output. The owner sends and receives, and calls:
//   to send       take_credit() or room_for_answer(); then stamp() writes what rides along.
//   on arrival    arrived() before anything else; reposted() when the buffer is posted again.
//   at the end    next() until it returns none; woken() for the peers that may send again.
//
// Buffers of messages that carry no eager data are posted again before anything is sent because of
// these messages. Peers belong to the owner and do not move while they are connected. Flow is not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "comm-channel/core/protocol/wire.h"

namespace scela::channel {

// Says which of its receiver's buffers a message takes: its room.
enum class Room : std::uint8_t {
  none,             // needs no buffer (a node's inbox)
  credit,           // one of the credits granted
  reserved,         // one at a time, acknowledged by the peer
  acknowledgement,  // one for each reserved message
};
// Returns the room that the sender has written into the header (stamp()).
inline Room room_of(const Header& header) {
  return static_cast<Room>((header.flags & flag::kRoomMask) >> flag::kRoomShift);
}

class Flow {
 public:
  struct Limits {
    std::uint32_t pool = 64;  // buffers granted to peers on demand
    std::uint32_t first = 1;  // further initial credits of each peer
    std::uint32_t most = 32;  // the most one peer is granted at a time
  };
  static constexpr std::uint32_t kReserved = 2;  // reserved buffers for each peer

  // The state of one peer. Only Flow changes it.
  class Peer {
   public:
    // Returns how many messages this process may send to the peer now.
    std::uint32_t credits() const { return credits_; }
    // Returns true if the peer keeps no more eager bytes for now, so messages are offered to it.
    bool offers_only() const { return offers_only_; }
    // Returns the credits of the peer that count here: unused ones, and those in its messages until
    // their buffers are posted again.
    std::uint32_t held() const { return held_; }
    bool connected() const { return connected_; }

   private:
    friend class Flow;
    bool connected_ = false;
    // The state as a sender to the peer.
    std::uint32_t credits_ = 0;
    bool blocked_ = false;    // a message waits for credit
    bool told_ = false;       // the peer knows that it waits
    bool woken_ = false;      // is in woken_ of Flow
    bool to_return_ = false;  // the peer asked for unused credits back
    bool offers_only_ = false;
    // The state as a receiver from the peer.
    std::uint32_t held_ = 0;
    std::uint32_t due_ = 0;           // part of held_: not told yet
    std::uint32_t arrived_ = 0;       // part of held_: arrived, not reposted
    std::uint32_t target_ = 1;        // credits that it should hold
    bool urgent_ = false;             // tells due credits at once
    bool hungry_ = false;             // is in hungry_: has asked for credit
    bool to_ask_ = false;             // is to be asked for credits back
    bool asked_ = false;              // was asked, has not answered
    bool dry_ = false;                // was asked, was granted nothing since
    bool knows_offers_only_ = false;  // what it was last told
    // The state for both directions.
    bool unacknowledged_ = false;  // our reserved message is not acknowledged
    bool owed_ = false;            // we owe an acknowledgement
    bool listed_ = false;          // is in listed_, which next() reads
  };

  // A message of Kind::credit that the owner must send to the peer, in this room.
  struct Note {
    Peer* peer = nullptr;
    Room room = Room::reserved;
    Credit body;
  };

  explicit Flow(const Limits& limits);

  // Makes a peer one that may exchange messages, and grants it its first credits. Returns how many
  // more buffers the owner must post before the peer learns that it is connected.
  std::uint32_t connect(Peer& peer);
  // Disconnects a peer. The owner has reported all messages from it, and no more will come, not
  // even messages in flight. Buffers of its eager messages may be reposted later, while the peer
  // object is still in place. The peer connects once.
  void disconnect(Peer& peer);

  // Takes a credit for a message with an envelope. Returns false if there is none: the message
  // waits until woken() returns the peer.
  bool take_credit(Peer& peer);
  // Takes room for a message that answers another (ready, done, agreements), and returns it.
  // Room::none means: not now, try again after the next arrival.
  Room room_for_answer(Peer& peer);
  // Writes into the header what rides along with a message to the peer. The owner calls it exactly
  // once for each message, in the order of sending.
  void stamp(Peer& peer, Room room, Header& header);

  // Records a message that has arrived. `body` is set for messages of Kind::credit only.
  void arrived(Peer& peer, const Header& header, const Credit* body = nullptr);
  // Records that the buffer of a message, which took `room`, is posted again. Every message that
  // arrived() has recorded needs one call.
  void reposted(Peer& peer, Room room);

  // Returns a credit message or acknowledgement to send now, or std::nullopt. The owner stamps it
  // like any other message.
  std::optional<Note> next();
  // Returns a peer that has credits again for its waiting messages, or nullptr.
  Peer* woken();

  // Sets whether this process keeps eager bytes. If not, peers are told to offer their messages.
  void keep_eager(bool keep);

  // Return how many buffers are granted to no peer, and how many there are to be granted in all.
  std::uint32_t free() const { return free_; }
  std::uint32_t granted() const;  // credits granted to all peers
  std::uint32_t pool() const { return pool_; }
  // Returns how many times a peer began to wait for credit.
  std::uint64_t waits() const { return waits_; }

 private:
  // Notes that there may be something to tell the peer; next() looks.
  void list(Peer& peer);
  // Grants free buffers to the peer, which is told soon.
  void grant(Peer& peer, std::uint32_t count);
  // Grants free buffers to peers without credit. If some are left without, ask_back() chooses peers
  // that are asked for unused credits.
  void serve();
  void ask_back();
  // Takes back `returned` credits, 0 or more, from a peer that was asked for unused ones. Their
  // buffers become free; serve() grants them to other peers.
  void take_back(Peer& peer, std::uint32_t returned);
  // Takes free buffers out of the pool that a disconnected peer had added to it.
  void settle();
  // Returns what the peer is to be told now, or std::nullopt if nothing, or if the room is in use.
  std::optional<Note> note_for(Peer& peer);

  Limits limits_;
  std::uint32_t pool_;       // free, or held by peers, also gone ones
  std::uint32_t free_;       // free to be granted
  std::uint32_t debt_ = 0;   // part of pool_ that leaves it when free
  std::uint32_t spare_ = 0;  // posted, but assigned to no peer
  std::uint32_t asks_ = 0;   // peers that are, or are to be, asked
  std::uint64_t waits_ = 0;
  bool offers_only_ = false;
  std::vector<Peer*> peers_;
  std::deque<Peer*> hungry_;
  std::deque<Peer*> listed_;
  std::deque<Peer*> woken_;
};

}  // namespace scela::channel
