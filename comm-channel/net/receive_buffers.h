// The buffers of the shared receive queue, and the credits that other ranks have for them
// (comm-channel/core/protocol/flow.h). NetworkLink (network_link.h) owns one.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/protocol/flow.h"
#include "comm-channel/engine/device_health.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port/network_buffers.h"
#include "comm-channel/net/rank_table.h"
#include "common/core/result.h"

namespace scela::channel {

class ReceiveBuffers {
 public:
  // All arguments must outlive this object.
  ReceiveBuffers(const LinkDevice& device, RankTable& ranks, Flow& flow)
      : device_(device), ranks_(ranks), flow_(flow) {}

  // Posts the pool of buffers, for messages of at most `most` bytes.
  Result<void> make(std::size_t most);
  // Gives the rank its credits and posts their buffers, unless that was done before. Loses the rank
  // if there is no memory. Called before the peer is notified of a connection, since it may send at
  // once.
  void connect(Remote& remote);
  // Posts a buffer again that a message has used. If that fails, post_those_left() posts it later;
  // the device counts as gone if that goes on failing.
  void post_again(std::byte* buffer);
  void post_those_left();

  std::uint64_t registered() const { return buffers_->registered(); }  // bytes
  std::uint64_t count() const { return buffers_->count(); }

 private:
  Result<void> post(std::byte* buffer);

  const LinkDevice& device_;
  RankTable& ranks_;
  Flow& flow_;
  std::optional<Buffers> buffers_;
  std::vector<std::byte*> unposted_;  // buffers not posted yet
  DeviceHealth health_;
};

}  // namespace scela::channel
