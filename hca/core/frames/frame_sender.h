// Sends frames to the engines of other nodes, and has the queue pairs that wait until a connection
// can take more (hca/core/wire/wire.h).
//
// Requesters and responders send here. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "hca/core/model/host.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/wire/wire.h"

namespace scela::hca {

inline std::span<const std::byte> bytes_of(const FrameHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

// Returns whether the receiver of these bytes, of a message of `total` bytes, must report its
// progress.
constexpr bool must_report_progress(std::uint64_t offset, std::uint64_t bytes,
                                    std::uint64_t total) {
  return total > kMaxAhead && (offset + bytes) / kTakenStep > offset / kTakenStep;
}

class FrameSender {
 public:
  // Both references must live as long as the sender.
  FrameSender(OtherNodes& nodes, Scheduler& scheduler) : nodes_(nodes), scheduler_(scheduler) {}

  // Returns whether another frame may be sent to the node now.
  bool is_ready(std::uint32_t node) { return nodes_.ready(node); }
  // Returns is_ready(). If that is false, the queue pair runs again once it is true.
  bool is_ready_for(std::uint32_t node, const Qp& qp);
  // Notes that the queue pair sends to the node; it comes last in the next round (writable).
  void note_sender(std::uint32_t node, const Qp& qp) { last_sender_[node] = qp.handle; }
  // Returns a buffer for the payload of one frame. The next call makes it invalid.
  std::span<std::byte> payload_buffer(std::uint64_t bytes) {
    payload_.resize(bytes);
    return payload_;
  }
  // Returns false if there is no connection to the node (OtherNodes::send).
  bool send(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> payload) {
    return nodes_.send(node, bytes_of(header), payload);
  }
  // Sends a frame that begins with its header.
  bool send(std::uint32_t node, std::span<const std::byte> frame) {
    return nodes_.send(node, frame.first(sizeof(FrameHeader)), frame.subspan(sizeof(FrameHeader)));
  }
  // Sends the verdict to the requester of `incoming`. `source_qpn` is the queue pair that answers.
  void send_answer(const Incoming& incoming, std::uint32_t source_qpn, const Verdict& verdict);
  // Sends a frame without payload to the queue pair that this one is connected to; only the kind
  // and these numbers are set.
  void send_control(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
                    std::uint64_t offset);

  // The node is ready again: the queue pairs that wait for it run.
  void writable(std::uint32_t node);
  // The connection to the node has ended: the queue pairs that wait for it run.
  void lost(std::uint32_t node);

 private:
  OtherNodes& nodes_;
  Scheduler& scheduler_;
  std::vector<std::byte> payload_;
  // The queue pairs that wait, by node.
  std::map<std::uint32_t, std::set<std::uint32_t>> waiting_;
  // The queue pair that sent last to each node.
  std::map<std::uint32_t, std::uint32_t> last_sender_;
};

}  // namespace scela::hca
