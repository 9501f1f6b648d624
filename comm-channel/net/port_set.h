// The ports of the device that a process uses, each with its connections (port/port_links.h). All
// messages go by the first one. NetworkLink (network_link.h) owns the set, and its parts use it.
//
// Only one thread at a time may call it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port/port_links.h"

namespace scela::channel {

class PortSet {
 public:
  using Ports = std::vector<std::unique_ptr<PortLinks>>;

  explicit PortSet(const LinkDevice& device) : device_(device) {}
  PortSet(const PortSet&) = delete;
  PortSet& operator=(const PortSet&) = delete;

  // Adds the next active port of the device. `user` must outlive this object, or its close().
  Result<void> add(const connect::PeerAddress& self, const PortLinks::Job& job, PortUser& user) {
    ports_.push_back(std::make_unique<PortLinks>(device_.parts_of_ports(), ports_.size(), user));
    return ports_.back()->make(self, job);
  }
  // Destroys all queue pairs. Afterwards no device writes to buffers that were posted to them.
  void close() { ports_.clear(); }

  std::size_t size() const { return ports_.size(); }
  PortLinks& operator[](std::size_t port) const { return *ports_[port]; }
  PortLinks& first() const { return *ports_.front(); }
  Ports::const_iterator begin() const { return ports_.begin(); }
  Ports::const_iterator end() const { return ports_.end(); }

  // Returns one peer address for each port, in one string of bytes.
  std::string address() const {
    std::string text;
    for (const auto& port : ports_)
      text.append(reinterpret_cast<const char*>(&port->address()), sizeof(connect::PeerAddress));
    return text;
  }

  // Returns whether messages may still come by any closed connection.
  bool is_receiving() const {
    return device_.works() && std::ranges::any_of(ports_, [](const auto& port) {
             return port->pairs().is_receiving();
           });
  }
  // Returns when one of the ports must be polled at the latest, or std::nullopt.
  std::optional<connect::Time> next_wake() const {
    std::optional<connect::Time> next;
    for (const auto& port : ports_)
      if (const auto due = port->next_wake()) next = std::min(next.value_or(*due), *due);
    return next;
  }
  // Destroys closed queue pairs that have nothing under way (PortPairs::bury()).
  void bury() {
    for (const auto& port : ports_)
      if (port->pairs().closed() != 0) port->pairs().bury(device_.now());
  }

  // Returns whether this process has begun to leave. begin_to_leave() does so, once.
  bool is_leaving() const { return leaving_; }
  void begin_to_leave() {
    if (leaving_) return;
    leaving_ = true;
    for (const auto& port : ports_)
      port->tell(connect::event::Leave{});
  }
  // Returns true if nothing is left. The last datagrams must have left too, since they would be
  // lost with the queue pair. A peer that waits for them would then ask a node that has no rank any
  // more.
  bool has_left() const {
    return std::ranges::all_of(ports_, [this](const auto& port) {
      return port->left() || (port != ports_.front() && !port->pairs().used());
    });
  }

  // Notes that the numbers of connections may have changed.
  void note_connections() {
    std::uint32_t links = 0, pairs = 0;
    for (const auto& port : ports_) {
      const connect::Counts counts = port->counts();
      links += counts.links;
      pairs += counts.links + counts.held + static_cast<std::uint32_t>(port->pairs().closed());
    }
    max_connections_ = std::max(max_connections_, links);
    max_queue_pairs_ = std::max(max_queue_pairs_, pairs);
  }
  // Adds the figures of all ports.
  void add_counters(Counters& counters) const {
    for (const auto& port : ports_) {
      const connect::Counts counts = port->counts();
      counters.send_queue_pairs += counts.links;
      counters.connections += counts.links;
      counters.receive_queue_pairs += counts.held;
      counters.handshakes_repeated += counts.repeats;
      counters.handshakes_ignored += counts.unheard;
      counters.registered_bytes += port->registered();
    }
    counters.max_connections = max_connections_;
    counters.max_queue_pairs = max_queue_pairs_;
    counters.ports = ports_.size();
  }

 private:
  const LinkDevice& device_;
  Ports ports_;
  std::uint32_t max_connections_ = 0, max_queue_pairs_ = 0;
  bool leaving_ = false;
};

}  // namespace scela::channel
