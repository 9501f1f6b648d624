// Hands the events of a process's ports (PortUser) to the parts of NetworkLink that they concern.
// NetworkLink (network_link.h) owns one, which is the user of all its ports.
//
// Only one thread at a time may call it. All messages go by the first port; another one only adds
// bandwidth, so its failure is no error.
#pragma once

#include <cstddef>
#include <string>

#include "comm-channel/net/peer_checks.h"
#include "comm-channel/net/port/port_links.h"
#include "comm-channel/net/port_set.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/receive_buffers.h"
#include "comm-channel/net/send_slots.h"
#include "common/core/text.h"

namespace scela::channel {

class PortEvents final : public PortUser {
 public:
  // All arguments must outlive this object.
  PortEvents(PortSet& ports, RankTable& ranks, ReceiveBuffers& receives, SendSlots& slots,
             PeerChecks& checks, const LinkDevice& device)
      : ports_(ports),
        ranks_(ranks),
        receives_(receives),
        slots_(slots),
        checks_(checks),
        device_(device) {}

  // The contract of these functions is in port/port_parts.h (PortUser).
  void addressed(std::size_t port, connect::PeerId peer) override {
    Remote* const remote = port == 0 ? ranks_.of_peer(port, peer) : nullptr;
    if (remote != nullptr) receives_.connect(*remote);
  }
  void drain(std::size_t port, connect::PeerId peer) override {
    Remote* const remote = ranks_.of_peer(port, peer);
    if (remote == nullptr) return;
    remote->paths.set_draining(port, true);
    slots_.report_drained(*remote, port);
  }
  // Requests that come back are sent again.
  void posted_is_lost(std::size_t port, connect::PeerId peer) override {
    if (Remote* const remote = ranks_.of_peer(port, peer)) remote->paths.set_draining(port, false);
  }
  void not_connected(std::size_t port, connect::PeerId peer, connect::Failure why) override {
    Remote* const remote = ranks_.of_peer(port, peer);
    if (remote == nullptr) return;
    if (port == 0) return checks_.on_not_connected(*remote, why);
    remote->paths.pause(port, now() + kPauseOfPort);
  }
  void gave_up(std::size_t port, connect::PeerId peer) override {
    Remote* const remote = port == 0 ? ranks_.of_peer(port, peer) : nullptr;
    if (remote == nullptr) return;
    const std::string& here = ports_.first().pairs().why_no_pair();
    ranks_.lose(*remote,
                here.empty()
                    ? "it has given this rank up, as its own adapter has failed"
                    : cat("it has given this rank up, whose own adapter had failed: ", here),
                RankTable::Notify::no);
  }
  void failed(std::size_t port, const std::string& why) override {
    if (port == 0) ranks_.lose_device(why);
  }
  void changed() override { ports_.note_connections(); }
  connect::Time now() const override { return device_.now(); }

 private:
  PortSet& ports_;
  RankTable& ranks_;
  ReceiveBuffers& receives_;
  SendSlots& slots_;
  PeerChecks& checks_;
  const LinkDevice& device_;
};

}  // namespace scela::channel
