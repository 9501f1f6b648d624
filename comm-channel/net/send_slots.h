// Connections on which a request can be posted now: SendSlots finds one to a rank, and asks for a
// connection if there is none. It counts the requests under way, so that neither a queue pair nor
// the completion queue gets more than it holds. NetworkLink (network_link.h) owns one.
//
// Only one thread at a time may call it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port_set.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/receive_buffers.h"

namespace scela::channel {

// A connection on which a request can be posted now.
struct SendSlot {
  PortPair* pair = nullptr;  // null: on none
  connect::Route route;
};

// The pause before a port other than the first is tried again.
inline constexpr connect::Time kPauseOfPort = std::chrono::seconds(10);

class SendSlots {
 public:
  // All arguments must outlive this object.
  SendSlots(const LinkDevice& device, PortSet& ports, LinkTurns& turns, ReceiveBuffers& receives)
      : device_(device), ports_(ports), turns_(turns), receives_(receives) {}

  // Returns a slot by the first port, which has all messages. Asks for a connection if there is
  // none and the rank may be asked now.
  SendSlot of_messages(Remote& remote);
  // Returns a slot by another port, of which only bytes of moves go. No message waits for it.
  SendSlot of_moves(Remote& remote, std::size_t index);
  // Notes that a request of so many bytes was posted, or that it is complete.
  void on_posted(Remote& remote, std::size_t port, const SendSlot& slot, std::uint64_t bytes) {
    ++slot.pair->under_way;
    ++under_way_;
    remote.paths.on_posted(port, slot.pair, bytes);
  }
  void on_complete(Remote& remote, std::size_t port) {
    --under_way_;
    remote.paths.on_complete(port);
  }
  // Gives the port event::Drained if it waits for the last request to the rank, and that is
  // complete.
  void report_drained(Remote& remote, std::size_t port) {
    if (remote.paths.take_drained(port))
      ports_[port].tell(connect::event::Drained{remote.paths.id(port)});
  }
  // Returns the number of requests under way to all ranks.
  std::uint32_t under_way() const { return under_way_; }

 private:
  const LinkDevice& device_;
  PortSet& ports_;
  LinkTurns& turns_;
  ReceiveBuffers& receives_;
  std::uint32_t under_way_ = 0;
};

}  // namespace scela::channel
