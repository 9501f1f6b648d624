// The queue pairs of one port: it makes and connects those that the machine of
// comm-channel/core/connect/connection_machine.h asks for, and keeps closed ones until all is
// received that came by them. PortLinks (port_links.h) owns one; the parts of NetworkLink post to
// its pairs.
//
// Only one thread at a time may call it. Nothing here blocks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/protocol/completion_looks.h"
#include "comm-channel/net/port/port_parts.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Requests under way on one queue pair. Above this number, messages wait.
inline constexpr std::uint32_t kPairDepth = 128;

// A queue pair that the machine knows by a QpId. The part that posts requests to it counts them.
struct PortPair {
  verbs::Qp qp;
  std::uint32_t first_packet = 0;          // first PSN that this end sends
  std::uint32_t under_way = 0;             // requests
  bool broken = false;                     // in the error state
  std::optional<connect::UdAddress> peer;  // connected to it, and may receive
  bool last_reported = false;              // the device reported its last receive
  connect::Time closed{};                  // when it was closed
  // Marks when all that it has received was in the completion queue.
  std::optional<CompletionLooks::Mark> complete;
};

class PortPairs {
 public:
  // The time that a closed pair waits for IBV_EVENT_QP_LAST_WQE_REACHED: not every device reports
  // it. A device that does may be a process that waits for a processor.
  static constexpr connect::Time kLastPatience = std::chrono::milliseconds(200);

  // `index` is that among the active ports of the device. The parts must outlive this object.
  PortPairs(const PortParts& parts, std::size_t index) : parts_(parts), index_(index) {}
  PortPairs(const PortPairs&) = delete;
  PortPairs& operator=(const PortPairs&) = delete;

  // Returns null if the queue pair does not exist, or is closed. The pointer is valid until the
  // pair is closed and has no request under way.
  PortPair* pair(connect::QpId id) const { return id < pairs_.size() ? pairs_[id].get() : nullptr; }

  // These carry out an action of the machine, and return the event that answers it: QpMade,
  // QpConnected or QpFailed.
  connect::Event create(const connect::action::CreateSendQp& action);
  connect::Event create(const connect::action::CreateReceiveQp& action);
  connect::Event open(const connect::action::OpenReceiveQp& action);
  // Returns std::nullopt if an earlier pair to the same peer may still receive messages. Then
  // connect_waiting() connects the pair later.
  std::optional<connect::Event> connect(const connect::action::ConnectQp& action);
  // Connects one pair that waited and need not wait any more, and returns its event. Returns
  // std::nullopt if there is none. The caller calls it until then.
  std::optional<connect::Event> connect_waiting();
  // Closes the pair, if there is one: nothing more is posted to it. bury() destroys it.
  void close(connect::QpId id, connect::Time now);

  // Destroys each closed pair once it has no request under way and all messages that came by it
  // were received.
  void bury(connect::Time now);
  // Destroys all pairs at once with their requests under way: the device is not used any more.
  void abandon();
  // Notes that the device has reported the last receive of the pair, closed or not, as complete
  // (IBV_EVENT_QP_LAST_WQE_REACHED). A pair of another port is ignored.
  void note_last_receive(const ibv_qp* qp);

  // Returns whether messages may still come by a closed pair, or by one that `from` was connected
  // to.
  bool is_receiving() const {
    return std::ranges::any_of(closed_, [this](const auto& one) { return !is_received(*one); });
  }
  bool is_receiving(const connect::UdAddress& from) const;
  // Returns the number of queue pairs that are closed but not destroyed yet.
  std::size_t closed() const { return closed_.size(); }
  // Returns whether there has ever been a connection.
  bool used() const { return used_; }
  // Returns what the device said when it last failed to make or connect a queue pair; empty: it
  // never did.
  const std::string& why_no_pair() const { return why_no_pair_; }
  // Returns how many RDMA reads at a time a queue pair of this device answers: 1 to 16.
  std::uint8_t reads() const;

 private:
  const verbs::Port& port() const { return parts_.device.capability.ports[index_]; }
  // Returns whether no message can come by the pair any more.
  bool is_received(const PortPair& pair) const;
  connect::Event connect_now(const connect::action::ConnectQp& action);
  // Keeps a queue pair that was made, and returns the event for it. `ready` is the result of the
  // steps after its creation.
  connect::Event keep(connect::QpId id, Result<verbs::Qp> qp, std::uint32_t first_packet,
                      const Result<void>& ready);

  const PortParts parts_;
  const std::size_t index_;
  std::vector<std::unique_ptr<PortPair>> pairs_;     // by QpId
  std::vector<std::unique_ptr<PortPair>> closed_;    // see bury()
  std::vector<connect::action::ConnectQp> waiting_;  // see connect_waiting()
  std::string why_no_pair_;
  bool used_ = false;
};

}  // namespace scela::channel
