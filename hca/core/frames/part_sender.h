// Sends parts of messages to other nodes as frames. A part is at most kMaxPayload bytes of a
// message (hca/core/wire/engine_frame.h).
//
// The requester of messages to other nodes and the sender of datagrams use it. The interpreter's
// one thread uses it.
#pragma once

#include <cstdint>
#include <span>

#include "hca/core/frames/frame_sender.h"
#include "hca/core/frames/late_frames.h"
#include "hca/core/model/local_ports.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/transfer/memory_transfers.h"

namespace scela::hca {

// The result of sending a datagram, a part of a message or a part of a read's data.
enum class SendResult : std::uint8_t {
  sent,  // handed over, or dropped by its receiver
  // It waits for memory or for a connection. The queue pair tries again in another turn.
  later,
  no_memory,      // the memory that it comes from cannot be read
  no_connection,  // there is no such node or no connection to it
};

// Makes frames of send requests: it reads their bytes from the process's memory.
class PartSender {
 public:
  // All references must live as long as the sender.
  PartSender(const LocalPorts& ports, MemoryTransfers& memory, FrameSender& frames,
             LateFrames& late)
      : ports_(ports), memory_(memory), frames_(frames), late_(late) {}

  // Sends the next part of the request `out` of `qp`, from byte Outgoing::sent on, as one frame. It
  // does not change `out`. `node` is the destination's number, and `target_qpn` the receiving queue
  // pair (0: a group). If `out` is late on purpose, the frame is kept until then, and counts as
  // sent. `node` 0 is this node, for late datagrams only.
  SendResult send(std::uint32_t node, std::uint32_t target_qpn, const Qp& qp, const Outgoing& out);

 private:
  // Returns the header of the frame that send() makes.
  FrameHeader header_of_part(std::uint32_t target_qpn, const Qp& qp, const Outgoing& out) const;
  // Sends the frame, or adds it to the late ones if `out` is late on purpose.
  SendResult send_frame(std::uint32_t node, const FrameHeader& header,
                        std::span<const std::byte> payload, const Outgoing& out);

  const LocalPorts& ports_;
  MemoryTransfers& memory_;
  FrameSender& frames_;
  LateFrames& late_;
};

}  // namespace scela::hca
