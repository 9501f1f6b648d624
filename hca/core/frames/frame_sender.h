// Sends frames to the engines of other nodes, and has the queue pairs that wait until a connection
// can take more (hca/core/wire/engine_frame.h). A node has the number by which OtherNodes knows it.
//
// Requesters (the sending halves of queue pairs) and responders (the receiving halves) send here.
// The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "hca/core/model/host.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/wire/engine_frame.h"

namespace scela::hca {

// Returns the bytes of the header, which must outlive them.
inline std::span<const std::byte> bytes_of(const FrameHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

// Returns true if a receiver that has taken `bytes` bytes at `offset`, of a message or read of
// `total` bytes, must report its progress now. It must each time that it passes a multiple of
// kTakenStep, if `total` exceeds kMaxAhead.
constexpr bool must_report_progress(std::uint64_t offset, std::uint64_t bytes,
                                    std::uint64_t total) {
  return total > kMaxAhead && (offset + bytes) / kTakenStep > offset / kTakenStep;
}

// Sends frames, and keeps the lists of queue pairs that wait.
class FrameSender {
 public:
  // Both references must live as long as the sender.
  FrameSender(OtherNodes& nodes, Scheduler& scheduler) : nodes_(nodes), scheduler_(scheduler) {}

  // Returns whether another frame may be sent to the node now.
  bool is_ready(std::uint32_t node) { return nodes_.ready(node); }
  // Returns true if another frame may be sent to the node now. Otherwise notes that the queue pair
  // waits: it is scheduled when writable() or lost() is called for the node.
  bool is_ready_for(std::uint32_t node, const Qp& qp);
  // Notes that the queue pair sends to the node. When writable() schedules the queue pairs that
  // wait, this one comes last.
  void note_sender(std::uint32_t node, const Qp& qp) { last_sender_[node] = qp.handle; }
  // Returns a buffer of `bytes` bytes for the payload of one frame. The next call makes it invalid.
  std::span<std::byte> payload_buffer(std::uint64_t bytes) {
    payload_.resize(bytes);
    return payload_;
  }
  // Sends a frame. Returns false if there is no connection to the node (OtherNodes::send).
  bool send(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> payload) {
    return nodes_.send(node, bytes_of(header), payload);
  }
  // Sends a whole frame, which begins with its FrameHeader. Returns as the other function does.
  bool send(std::uint32_t node, std::span<const std::byte> frame) {
    return nodes_.send(node, frame.first(sizeof(FrameHeader)), frame.subspan(sizeof(FrameHeader)));
  }
  // Sends the responder's verdict to the requester that has sent `incoming`. `source_qpn` is the
  // number of the queue pair that answers.
  void send_answer(const Incoming& incoming, std::uint32_t source_qpn, const Verdict& verdict);
  // Sends a frame without payload to the peer of this connected queue pair. Only the kind, the
  // queue pairs and these three numbers are set.
  void send_control(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
                    std::uint64_t offset);

  // Schedules the queue pairs that wait for the node, because it may be sent to again.
  void writable(std::uint32_t node);
  // Schedules the queue pairs that wait for the node, because the connection to it has ended.
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
