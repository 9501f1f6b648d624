// A part of a message on its way from a requester to a responder, and the answer to it. A requester
// is the sending half of a queue pair, a responder the receiving half of its peer.
//
// Requesters make parts for queue pairs of this node, and the handler of frames makes them for
// those of other nodes; the Responder executes them. They are plain values of the interpreter's one
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hca/core/model/local_ports.h"
#include "hca/core/model/objects.h"

namespace scela::hca {

// A part of a message, as the responder gets it.
struct Incoming {
  std::uint32_t node = 0;  // the requester's; 0: this node
  // The requester's round: it grows each time that the requester sends again.
  std::uint32_t round = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  std::uint16_t source_lid = 0;
  std::uint8_t port = 0;  // port that it is for; 0: any (group)
  Gid source_gid;
  // The payload of the part: `bytes`, or if `pieces` is not null the bytes of these pieces of
  // `from`'s memory, from byte `offset` on. For a read they say where the data of the answer must
  // go.
  //
  // Spans and pointers are valid only during the call that gets this object.
  std::span<const std::byte> bytes;
  ProcessId from = 0;
  const std::vector<Piece>* pieces = nullptr;
  // The request that the message is of.
  const SendRequest* request = nullptr;
  std::uint32_t psn = 0;
  std::uint64_t total = 0;   // bytes of the whole message
  std::uint64_t offset = 0;  // bytes that came in earlier parts
  std::uint64_t count = 0;   // bytes of this part
  // Return true for the first and the last part of the message.
  bool first() const { return offset == 0; }
  bool last() const { return offset + count == total; }
};

// The answer of a responder to a part of a message.
struct Verdict {
  enum class Kind : std::uint8_t {
    // Executed; or, if it is not the last part, taken.
    accepted,
    // No queue pair there listens. The requester counts it as no answer, and tries again after its
    // timeout.
    silent,
    // There is no receive request: the requester tries again after `rnr_timer`.
    not_ready,
    // The request failed: the requester's completion gets `status`.
    refused,
    // A read of another node: its data will be sent there.
    later,
    // The step waits for a process's memory, and must be taken again (hca/core/model/transfer.h).
    held,
  };
  Kind kind = Kind::accepted;
  Status status = Status::success;
  // A code of IBTA table 45.
  std::uint8_t rnr_timer = 0;
  // The value that an atomic operation found in memory.
  std::uint64_t before = 0;
};

// The verdict `silent`.
inline constexpr Verdict kSilent{Verdict::Kind::silent, Status::success, 0, 0};

// Describes the next part of the request `out` of `qp`, from byte Outgoing::sent on, to a responder
// of this node. `ports` has the addresses of this node. The result points into `out`.
Incoming next_part(const LocalPorts& ports, const Qp& qp, const Outgoing& out);

// Returns true if a request asks for data: a read, or an atomic operation, which returns an old
// value. All other messages carry bytes.
constexpr bool asks_for_data(Opcode opcode) {
  return opcode == Opcode::rdma_read || opcode == Opcode::compare_swap ||
         opcode == Opcode::fetch_add;
}

// Returns true if the queue pair receives such messages at all: its state permits it, and they are
// for its own port.
inline bool accepts(const Qp& qp, const Incoming& incoming) {
  return (qp.state == QpState::rtr || qp.state == QpState::rts || qp.state == QpState::sqd ||
          qp.state == QpState::sqe) &&
         (incoming.port == 0 || incoming.port == qp.attributes.port);
}

// Returns the sum of the buffers' lengths.
inline std::uint64_t total_bytes(const std::vector<Sge>& sges) {
  std::uint64_t bytes = 0;
  for (const Sge& sge : sges)
    bytes += sge.length;
  return bytes;
}

}  // namespace scela::hca
