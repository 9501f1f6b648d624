// The sleep of a process until something comes from another node: arming the completion queues,
// waiting at their events, and waking up. NetworkLink (network_link.h) owns one.
//
// Only one thread at a time may call it, except that doze() and wake() may be called by any thread.
#pragma once

#include <optional>

#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offload_link.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port_set.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::channel {

class LinkSleep {
 public:
  // All arguments must outlive this object.
  LinkSleep(const LinkDevice& device, const PortSet& ports, std::optional<OffloadLink>& offload)
      : device_(device), ports_(ports), offload_(offload) {}

  // Makes the descriptor for wake(). An error leaves an object that is only to be destroyed.
  Result<void> make();
  // The contract of these functions is in comm-channel/engine/network.h.
  bool arm();
  void doze(const Timeout& limit);
  void wake();
  void disarm();
  int events() const { return device_.works() ? device_.events()->fd : -1; }
  Timeout until_timer() const { return until_timer_; }

 private:
  // Returns whether the completion channel has an event that was not read.
  bool has_event() const;

  const LinkDevice& device_;
  const PortSet& ports_;
  std::optional<OffloadLink>& offload_;
  Fd woken_;  // eventfd
  bool armed_ = false;
  Timeout until_timer_;  // as of arm()
};

}  // namespace scela::channel
