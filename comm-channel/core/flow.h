// Credits: nobody sends a message for which its receiver has posted no buffer (docs/channel.md,
// Credits).
//
// A process's buffers stand in one shared receive queue. It grants each peer the use of some, more
// to who speaks more, and asks back what is not used when others have none. A sender without credit
// keeps its messages until it gets one. Messages about credit, and answers, have room of their own:
// two buffers for each peer, one for a message that the peer acknowledges before the next such one,
// one for the acknowledgement.
//
// Pure: the owner sends and receives, and says so:
//   to send        take_credit, or room_for_answer; then stamp() writes what rides along
//   a message      arrived() before anything else; then its buffer is posted again, and reposted()
//   at last        next() until it has none: messages about credit, and woken(): who may send again
// Buffers of messages that are no eager data are posted again before anything is sent because of
// them. Peers belong to the owner and stay where they are while connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "comm-channel/core/wire.h"

namespace scela::channel {

// What a message takes its buffer by.
enum class Room : std::uint8_t {
  none,  // it needs none (a node's inbox)
  credit,
  reserved,         // one at a time; the other acknowledges it
  acknowledgement,  // one for each of those
};
inline Room room_of(const Header& header) {
  return static_cast<Room>((header.flags & flag::kRoomMask) >> flag::kRoomShift);
}

class Flow {
 public:
  struct Limits {
    std::uint32_t pool = 64;  // buffers that are granted to whoever needs them
    std::uint32_t first = 1;  // credits that a peer has from the beginning, besides those
    std::uint32_t most = 32;  // that one peer is granted at a time
  };
  static constexpr std::uint32_t kReserved = 2;  // buffers for each peer

  class Peer {
   public:
    std::uint32_t credits() const { return credits_; }
    // It keeps no more eager bytes for now: messages are offered to it.
    bool offers_only() const { return offers_only_; }
    // What it may use here, and what of that stands in messages that it has sent.
    std::uint32_t held() const { return held_; }
    bool connected() const { return connected_; }

   private:
    friend class Flow;
    bool connected_ = false;
    // As a sender to it.
    std::uint32_t credits_ = 0;
    bool blocked_ = false;  // something waits for credit
    bool told_ = false;     // and the peer knows
    bool woken_ = false;
    bool to_return_ = false;  // it has asked for what is not used
    bool offers_only_ = false;
    // As a receiver from it.
    std::uint32_t held_ = 0;
    std::uint32_t due_ = 0;      // of these: not told yet
    std::uint32_t arrived_ = 0;  // of these: in messages whose buffers are not posted again
    std::uint32_t target_ = 1;
    bool urgent_ = false;  // tell what is due at once
    bool hungry_ = false;
    bool to_ask_ = false;
    bool asked_ = false;  // and not answered
    bool dry_ = false;    // was asked, and granted nothing since
    bool knows_offers_only_ = false;
    // Both.
    bool unacknowledged_ = false;  // it has our message in the reserved room
    bool owed_ = false;            // we have its
    bool listed_ = false;          // next() looks at it
  };

  struct Note {
    Peer* peer = nullptr;
    Room room = Room::reserved;
    Credit body;
  };

  explicit Flow(const Limits& limits);

  // So many buffers more must be posted before the peer learns that it is connected.
  std::uint32_t connect(Peer& peer);
  // All that came from it was told, and no more will come, not even what was under way. Buffers of
  // its eager messages may be reposted later, while the peer is where it was. It connects once.
  void disconnect(Peer& peer);

  // For a message with an envelope. False: it has to wait until the peer is woken.
  bool take_credit(Peer& peer);
  // For what answers a message (ready, done, agreements): none: not now, try after the next
  // arrival.
  Room room_for_answer(Peer& peer);
  // What rides along with a message to the peer. Exactly once for each, in the order of sending.
  void stamp(Peer& peer, Room room, Header& header);

  // `body`: of Kind::credit.
  void arrived(Peer& peer, const Header& header, const Credit* body = nullptr);
  void reposted(Peer& peer, Room room);

  // A message of Kind::credit that is to be sent now; it is stamped like any other.
  std::optional<Note> next();
  // A peer that has credits for what waits for it.
  Peer* woken();

  // Whether eager bytes are kept here: else peers are told to offer their messages.
  void keep_eager(bool keep);

  std::uint32_t free() const { return free_; }
  std::uint32_t granted() const;  // to all
  std::uint32_t pool() const { return pool_; }
  // How often something began to wait for credit.
  std::uint64_t waits() const { return waits_; }

 private:
  void list(Peer& peer);
  void grant(Peer& peer, std::uint32_t count);
  void serve();
  void ask_back();
  void take_back(Peer& peer, std::uint32_t returned);
  void settle();
  std::optional<Note> note_for(Peer& peer);

  Limits limits_;
  std::uint32_t pool_;  // buffers that can be granted: free, or held by peers that are connected
  std::uint32_t free_;  // or held by ones that are gone
  std::uint32_t debt_ = 0;   // of these, to be taken out of the pool when they are free
  std::uint32_t spare_ = 0;  // posted, but nobody's
  std::uint32_t asks_ = 0;
  std::uint64_t waits_ = 0;
  bool offers_only_ = false;
  std::vector<Peer*> peers_;
  std::deque<Peer*> hungry_;
  std::deque<Peer*> listed_;
  std::deque<Peer*> woken_;
};

}  // namespace scela::channel
