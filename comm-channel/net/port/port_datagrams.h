// The datagrams of one port, by which processes make and end connections: an unreliable queue pair
// (UD) with its buffers. PortLinks (port_links.h) owns one.
//
// Only one thread at a time may call it. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/engine/device_health.h"
#include "comm-channel/net/port/network_buffers.h"
#include "comm-channel/net/port/port_parts.h"
#include "common/core/result.h"

namespace scela::channel {

class PortDatagrams {
 public:
  // `index` is that among the active ports of the device. The parts and `user` must outlive this
  // object. PortUser::failed() is called if the device refuses datagrams for too long.
  PortDatagrams(const PortParts& parts, std::size_t index, PortUser& user)
      : parts_(parts), index_(index), user_(user) {}
  PortDatagrams(const PortDatagrams&) = delete;
  PortDatagrams& operator=(const PortDatagrams&) = delete;

  // Makes the queue pair and posts its buffers. `key` is the Q_Key of all datagrams of the job.
  // An error leaves an object that is only to be destroyed.
  Result<void> make(std::uint32_t key);
  // Returns where peers send datagrams for this port. make() must have succeeded.
  connect::UdAddress address() const;

  // Sends a datagram of at most connect::kHandshakeBytes bytes, or drops it if that is not possible
  // now: its sender repeats it.
  void send(const connect::UdAddress& to, const std::string& bytes);
  // Adds the datagrams that came to `received`. Returns how many came or were sent.
  unsigned poll(std::vector<std::string>& received);
  // Asks for an event at the next datagram. Returns false if the completion queue cannot be armed.
  bool arm() { return ::ibv_req_notify_cq(cq_.get(), 0) == 0; }
  // Returns whether the device has sent all datagrams.
  bool all_sent() const { return under_way_.empty(); }
  // Returns the registered bytes.
  std::uint64_t registered() const { return out_->registered() + in_->registered(); }

 private:
  const verbs::Port& port() const { return parts_.device.capability.ports[index_]; }
  // Posts a buffer for a datagram. post_those_left() posts those that could not be posted before.
  Result<void> post(std::byte* buffer);
  void post_those_left();
  // The device has refused something. Reports the port as failed if that goes on for too long.
  void judge_device(DeviceHealth& health, const char* what, const Error& error);

  const PortParts parts_;
  const std::size_t index_;
  PortUser& user_;
  verbs::Cq cq_;
  verbs::Qp qp_;
  std::uint32_t key_ = 0;  // Q_Key
  std::optional<Buffers> out_, in_;
  std::vector<std::pair<std::byte*, verbs::Ah>> under_way_;  // sends
  std::vector<std::byte*> unposted_;                         // of in_
  DeviceHealth sending_, receiving_;
};

}  // namespace scela::channel
