// The objects of the verbs device by which one process exchanges messages with other nodes:
// protection domain, completion queues, shared receive queue and registrations. All parts of a
// NetworkLink (network_link.h) share one. It also knows whether the device still works, and has the
// clock of the link.
//
// Only one thread at a time may call it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/protocol/completion_looks.h"
#include "comm-channel/net/port/port_links.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/result.h"

namespace scela::channel {

// Requests under way on all queue pairs together. Above this number, messages wait.
inline constexpr std::uint32_t kMaxUnderWay = 1024;

class LinkDevice {
 public:
  explicit LinkDevice(verbs::Device device) : device_(std::move(device)) {}
  LinkDevice(const LinkDevice&) = delete;
  LinkDevice& operator=(const LinkDevice&) = delete;

  // Makes all objects. `file` is that of NetworkLink::open(). An error leaves an object that is
  // only to be destroyed.
  Result<void> make(int file);

  const verbs::Device& device() const { return device_; }
  const verbs::Symbols& symbols() const { return *device_.symbols; }
  const verbs::Pd& pd() const { return pd_; }
  const verbs::CompChannel& events() const { return events_; }
  const verbs::Cq& send_cq() const { return send_cq_; }
  const verbs::Cq& receive_cq() const { return receive_cq_; }
  const verbs::Srq& srq() const { return srq_; }
  verbs::Registrations& registrations() const { return *registrations_; }
  // The polls of receive_cq().
  CompletionLooks& looks() { return looks_; }
  const CompletionLooks& looks() const { return looks_; }
  PortParts parts_of_ports() const {
    return {device_, pd_, xrcd_, srq_, events_, send_cq_, receive_cq_, looks_};
  }
  // Returns true with RC: then each rank has queue pairs of its own.
  bool by_rank() const { return device_.capability.mode == verbs::Mode::rc; }
  // Returns how many bytes one request moves at most.
  std::uint64_t max_moved() const { return max_moved_; }

  // The device works until it is noted that it is gone. It does not come back.
  bool works() const { return works_; }
  void note_gone() { works_ = false; }
  // Returns the time since this object was made.
  connect::Time now() const {
    return std::chrono::duration_cast<connect::Time>(Clock::now() - begin_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point begin_ = Clock::now();
  verbs::Device device_;
  verbs::Pd pd_;
  verbs::CompChannel events_;
  verbs::Cq send_cq_, receive_cq_;
  verbs::Xrcd xrcd_;
  verbs::Srq srq_;
  std::unique_ptr<verbs::Registrations> registrations_;
  CompletionLooks looks_;
  std::uint64_t max_moved_ = 0;
  bool works_ = true;
};

}  // namespace scela::channel
