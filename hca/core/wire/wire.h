// The frames that engines of different nodes exchange: a header and up to `kMaxPayload` bytes.
// Numbers are little-endian, and there is one version. A peer that connects first proves that it
// belongs to the job. All functions are pure.
//
// A requester sends the parts of its messages in order. The responder answers each message once, or
// each part that it does not take. TCP loses no bytes, so the requester keeps no copies of
// messages. If an answer says that a message was not taken, or a connection is lost, the requester
// begins a new round. The round starts with its oldest message that is not answered.
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

#include "hca/core/wire/layout.h"

namespace scela::hca {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t kWireVersion = 5;
inline constexpr std::uint64_t kMaxPayload = 64 * 1024;

// The sender of a message's or a read's bytes is at most kMaxAhead bytes ahead of the receiver,
// because the receiver's memory may be slow. The receiver reports its progress every kTakenStep
// bytes.
inline constexpr std::uint64_t kMaxAhead = 4 * 1024 * 1024;
inline constexpr std::uint64_t kTakenStep = 1024 * 1024;

enum class FrameKind : std::uint32_t {
  request = 1,  // a part of a message, with its bytes
  // The answer to a message: verdict, status, rnr_timer, and compare_add, which is the value that
  // an atomic operation found.
  answer = 2,
  data = 3,  // a part of a read, with its bytes
  // They report in `offset` how much of a message (to its requester) or of a read (to its
  // responder) has been taken.
  taken = 4,
  read_on = 5,
  // Tells a requester that the responder dropped the frames after this message and after `offset`
  // bytes of it. There is room now, and a new round begins there.
  again = 6,
};

struct FrameHeader {
  FrameKind kind = FrameKind::request;
  std::uint32_t target_qpn = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  // All parts of a message have the same PSN. `round` is the requester's. Answers repeat both.
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  Opcode opcode = Opcode::send;
  // Flags of send_flag; only kSolicited is used.
  std::uint32_t flags = 0;
  std::uint32_t immediate = 0;
  std::uint32_t remote_srqn = 0;
  std::uint32_t rkey = 0;
  std::uint32_t qkey = 0;
  // In answers: a value of Verdict::Kind (hca/core/queues/message_part.h).
  std::uint32_t verdict = 0;
  Status status = Status::success;
  // A code of IBTA table 45.
  std::uint32_t rnr_timer = 0;
  std::uint16_t source_lid = 0;
  std::uint8_t is_global = 0;
  std::uint8_t target_port = 0;  // 0: any, for a group
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  // The bytes of the whole message, and those before this part.
  std::uint64_t total = 0;
  std::uint64_t offset = 0;
  // The bytes of the message in this part. A read's request carries no bytes.
  std::uint64_t count = 0;
  Gid source_gid;
  Gid target_gid;
};
static_assert(std::is_trivially_copyable_v<FrameHeader> &&
              std::has_unique_object_representations_v<FrameHeader>);

// Returns std::nullopt if the bytes are no frame or have impossible values.
std::optional<FrameHeader> header_of(std::span<const std::byte> frame);

}  // namespace scela::hca
