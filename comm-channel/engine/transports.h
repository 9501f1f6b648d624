// The two ways by which messages leave a process: the shared memory of its node, and the network to
// other nodes. Each rank is reached by exactly one of them. The parts of the messenger use it
// (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

class Transports {
 public:
  // `node` is null if this process is alone on its node. `network` is null if there are no other
  // nodes. `peers` must outlive this object.
  Transports(Peers& peers, std::unique_ptr<shm::NodeLink> node, std::unique_ptr<Network> network);

  // Both return null if there is no such way, or if it is closed.
  shm::NodeLink* node() const { return node_.get(); }
  Network* network() const { return network_.get(); }

  // Sends a message with its payload; the source and the length of the header are filled in.
  // Returns false if there is no room now: the caller tries again after the transports were polled.
  bool transmit(int rank, const Header& header, std::span<const std::byte> payload);
  // Returns the error for operations that wait for a rank that has ended. It is Code::device if the
  // adapter of this process is gone.
  Status error_of_end(int rank) const;

  // Destroys both. Nothing may be sent afterwards, and nothing comes.
  void close();
  bool is_closed() const { return is_closed_; }
  // Adds what both have used to the counters.
  void add_counters(Counters& counters) const;

 private:
  Peers& peers_;
  std::unique_ptr<shm::NodeLink> node_;
  std::unique_ptr<Network> network_;
  bool is_closed_ = false;
};

// This is called for each message.
inline bool Transports::transmit(int rank, const Header& header,
                                 std::span<const std::byte> payload) {
  Header whole = header;
  whole.source = peers_.own_rank();
  whole.length = static_cast<std::uint32_t>(payload.size());
  if (!peers_.is_local(rank)) return network_->send(rank, whole, payload);
  return node_->send_small(peers_.local_number(rank), shm::Header{words_of(whole)}, payload);
}

}  // namespace scela::channel
