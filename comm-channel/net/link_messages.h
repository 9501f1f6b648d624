// Messages to and from ranks of other nodes. Each needs a buffer and a credit
// (comm-channel/core/protocol/flow.h), and has a sequence number, since a message may be sent again
// after a connection has broken. NetworkLink (network_link.h) owns one; RefusedMoves uses it.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/protocol/flow.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/net/link_requests.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/receive_buffers.h"
#include "comm-channel/net/send_slots.h"

namespace scela::channel {

class LinkMessages {
 public:
  // All arguments must outlive this object.
  LinkMessages(const World& world, Flow& flow, RankTable& ranks, ReceiveBuffers& receives,
               SendSlots& slots, LinkRequests& requests)
      : world_(world),
        flow_(flow),
        ranks_(ranks),
        receives_(receives),
        slots_(slots),
        requests_(requests) {}

  // The contract is that of NetworkTraffic::send(). Returns false for a rank that is lost; the
  // messenger is notified of that soon.
  bool send(int rank, const Header& header, std::span<const std::byte> payload);
  // Sends the messages about credit (Flow::Note) that Flow asks for, as far as there is room.
  void send_notes();
  // Sends an empty message about credit. If it succeeds, the process of the peer still has its
  // memory. Returns the message's buffer, which names it, or null if nothing can be sent now.
  const std::byte* send_question(Remote& remote);
  // Handles a message that came into `buffer`, and posts the buffer again.
  void receive(std::span<const std::byte> bytes, NetworkUser& user, std::byte* buffer);
  // Drops the messages about credit that wait for a rank that has ended, and counts its credits as
  // unused.
  void on_ended(Remote& remote);

 private:
  // Sends a message with the room and the buffer that the caller has taken. A message that cannot
  // be posted now is posted later.
  void send_in(Remote& to, const SendSlot& slot, Room room, const Header& header,
               std::span<const std::byte> payload, std::byte* buffer);
  // Sends a message about credit.
  void send_credit(Remote& to, const SendSlot& slot, Room room, const Credit& body,
                   std::byte* buffer);
  // Returns true if the rank has no notes left.
  bool send_notes_of(Remote& to);

  const World& world_;
  Flow& flow_;
  RankTable& ranks_;
  ReceiveBuffers& receives_;
  SendSlots& slots_;
  LinkRequests& requests_;
  std::vector<int> with_notes_;  // ranks that have notes to be sent
};

}  // namespace scela::channel
