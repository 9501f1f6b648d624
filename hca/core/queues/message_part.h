// A part of a message on its way from a requester to a responder, and the answer to it.
//
// Requesters make them for queue pairs of this node, and the handler of frames for those of other
// nodes; the Responder executes them. They are plain values of the interpreter's one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hca/core/model/local_ports.h"
#include "hca/core/model/objects.h"

namespace scela::hca {

struct Incoming {
  std::uint32_t node = 0;  // of the requester; 0: this node
  std::uint32_t round = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  std::uint16_t source_lid = 0;
  std::uint8_t port = 0;  // target port; 0: any, for a group
  Gid source_gid;
  // The payload of the part: `bytes`, or the bytes of `pieces` of a process's memory from `offset`
  // on. For a read these say where the data of the answer must go.
  //
  // Spans and pointers are valid only during the call that gets this object.
  std::span<const std::byte> bytes;
  ProcessId from = 0;
  const std::vector<Piece>* pieces = nullptr;
  const SendRequest* request = nullptr;
  std::uint32_t psn = 0;
  std::uint64_t total = 0;   // of the whole message
  std::uint64_t offset = 0;  // bytes that came in earlier parts
  std::uint64_t count = 0;   // bytes of this part
  bool first() const { return offset == 0; }
  bool last() const { return offset + count == total; }
};

// The answer of a responder to a requester.
struct Verdict {
  enum class Kind : std::uint8_t {
    accepted,  // done, or done as far as it was sent
    silent,    // no queue pair there that listens
    // There is no receive request: the requester tries again after `rnr_timer`.
    not_ready,
    // The requester's completion gets `status`.
    refused,
    // The data of a read is on its way to another node.
    later,
    // The step waits for a process's memory and must be taken again (hca/core/model/transfer.h).
    held,
  };
  Kind kind = Kind::accepted;
  Status status = Status::success;
  std::uint8_t rnr_timer = 0;
  // The value that an atomic operation found in memory.
  std::uint64_t before = 0;
};

inline constexpr Verdict kSilent{Verdict::Kind::silent, Status::success, 0, 0};

// Describes the next part of `out`, from the port of `qp`, to a responder. The result points into
// `out`.
Incoming next_part(const LocalPorts& ports, const Qp& qp, const Outgoing& out);

// Returns whether a request asks for data: a read, or the old value of an atomic operation. All
// other messages carry bytes.
constexpr bool asks_for_data(Opcode opcode) {
  return opcode == Opcode::rdma_read || opcode == Opcode::compare_swap ||
         opcode == Opcode::fetch_add;
}

// Returns whether the queue pair receives such messages at all: its state permits it, and they come
// to its own port.
inline bool accepts(const Qp& qp, const Incoming& incoming) {
  return (qp.state == QpState::rtr || qp.state == QpState::rts || qp.state == QpState::sqd ||
          qp.state == QpState::sqe) &&
         (incoming.port == 0 || incoming.port == qp.attributes.port);
}

// Returns the bytes of the buffers.
inline std::uint64_t total_bytes(const std::vector<Sge>& sges) {
  std::uint64_t bytes = 0;
  for (const Sge& sge : sges)
    bytes += sge.length;
  return bytes;
}

}  // namespace scela::hca
