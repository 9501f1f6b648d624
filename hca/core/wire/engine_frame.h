// The frames that engines of different nodes exchange: a header and up to `kMaxPayload` bytes. The
// interpreter makes and executes them; hca/engine/net moves them. Numbers are little-endian, and
// there is one version. A peer that connects first proves that it belongs to the job. All functions
// are pure.
//
// A requester is the sending half of a queue pair, a responder the receiving half of its peer. A
// message is a request with its bytes, cut into parts of at most kMaxPayload bytes. A requester
// sends the parts of its messages in order. The responder answers each message once, or each part
// that it does not take.
//
// TCP loses no bytes, so the requester keeps no copies of messages. If an answer says that a
// message was not taken, or a connection is lost, the requester begins a new round. It then sends
// again from its oldest message that is not answered. Rounds are numbered, so that answers to an
// earlier round can be ignored.
//
// An engine never drops a frame of a reliable queue pair silently: no engine has a timer for frames
// that have arrived.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

static_assert(std::endian::native == std::endian::little);

// The version of the protocol between engines; engines of different versions do not connect.
inline constexpr std::uint32_t kWireVersion = 5;
// The greatest number of bytes of one part.
inline constexpr std::uint64_t kMaxPayload = 64 * 1024;

// The sender of a message's or a read's bytes is at most kMaxAhead bytes ahead of the receiver,
// because the receiver's memory may be slow. The receiver reports its progress every kTakenStep
// bytes.
inline constexpr std::uint64_t kMaxAhead = 4 * 1024 * 1024;
inline constexpr std::uint64_t kTakenStep = 1024 * 1024;

// The kind of a frame. Requests come from a requester; answer, data, taken and again go back to it.
// The requester of a read sends read_on.
enum class FrameKind : std::uint32_t {
  request = 1,  // a part of a message, with its bytes
  // The answer to a message: verdict, status, rnr_timer, and compare_add, which is the value that
  // an atomic operation found in memory.
  answer = 2,
  data = 3,  // a part of a read, with its bytes
  // Progress of a long transfer: `offset` bytes of it have been taken. `taken` tells the requester
  // of a message so, and `read_on` the responder that sends the data of a read.
  taken = 4,
  read_on = 5,
  // Tells a requester that the responder dropped the frames after this message and after `offset`
  // bytes of it, because it had no room. There is room now, and the requester begins a new round
  // there.
  again = 6,
};

// The header of every frame. A field that its kind does not use is 0.
struct FrameHeader {
  FrameKind kind = FrameKind::request;
  std::uint32_t target_qpn = 0;  // 0: a multicast group
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  // The sequence number of the message, modulo 2^24; all its parts have the same. `round` is the
  // requester's. Answers repeat both.
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  Opcode opcode = Opcode::send;
  // Flags of send_flag; only kSolicited is used.
  std::uint32_t flags = 0;
  // The fields of the send request (SendRequest).
  std::uint32_t immediate = 0;
  std::uint32_t remote_srqn = 0;
  std::uint32_t rkey = 0;
  std::uint32_t qkey = 0;
  // In answers: a value of Verdict::Kind (hca/core/queues/message_part.h).
  std::uint32_t verdict = 0;
  Status status = Status::success;
  // In answers "receiver not ready": when to try again, as a code of IBTA table 45.
  std::uint32_t rnr_timer = 0;
  std::uint16_t source_lid = 0;
  // 1 if a datagram was sent to a GID. It then arrives with a route header.
  std::uint8_t is_global = 0;
  std::uint8_t target_port = 0;  // 1 or 2; 0: any, for a group
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  // The bytes of the whole message, and those before this part.
  std::uint64_t total = 0;
  std::uint64_t offset = 0;
  // The bytes of the message in this part. A request that asks for data carries no bytes; its
  // `count` is what it asks for.
  std::uint64_t count = 0;
  Gid source_gid;
  Gid target_gid;  // a datagram's destination
};
static_assert(std::is_trivially_copyable_v<FrameHeader> &&
              std::has_unique_object_representations_v<FrameHeader>);

// Returns the header of a whole frame. Returns std::nullopt if the bytes are no frame or have
// impossible values: the sender is then no engine of this version.
std::optional<FrameHeader> header_of(std::span<const std::byte> frame);

}  // namespace scela::hca
