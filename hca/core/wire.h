// What engines of different nodes say to each other: frames of a header and up to `kMostPayload`
// bytes. Little-endian, one version; who connects proves first that it belongs to the job.
//
// A requester sends the parts of its messages in order; the responder answers each message once, or
// each part that it does not take. TCP loses nothing, so there are no copies of messages: after an
// answer that it was not taken, or a lost connection, a requester begins a new round with its
// oldest message that is not answered. No frame of a reliable queue pair is dropped without a word:
// nobody has a timer for what the other engine has got.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "hca/core/layout.h"

namespace scela::hca {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t kWireVersion = 5;
inline constexpr std::uint64_t kMostPayload = 64 * 1024;

// Whoever sends bytes of a message, or of a read, is not further ahead of who takes them than this:
// the other's memory may take its time. Who takes them says so at each step.
inline constexpr std::uint64_t kMostAhead = 4 * 1024 * 1024;
inline constexpr std::uint64_t kTakenStep = 1024 * 1024;

enum class FrameKind : std::uint32_t {
  request = 1,  // a part of a message, with its bytes
  answer = 2,   // to a message: verdict, status, rnr_timer, compare_add (what an atomic found)
  data = 3,     // of a read: a part, with its bytes
  // How far a message (to its requester) or a read (to its responder) has been taken: `offset`.
  taken = 4,
  read_on = 5,
  // To a requester: what it sent behind this message, and behind `offset` of it, was turned away,
  // and there is room now. A new round begins there.
  again = 6,
};

struct FrameHeader {
  FrameKind kind = FrameKind::request;
  std::uint32_t target_qpn = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  Opcode opcode = Opcode::send;
  std::uint32_t flags = 0;
  std::uint32_t immediate = 0;
  std::uint32_t remote_srqn = 0;
  std::uint32_t rkey = 0;
  std::uint32_t qkey = 0;
  std::uint32_t verdict = 0;
  Status status = Status::success;
  std::uint32_t rnr_timer = 0;
  std::uint16_t source_lid = 0;
  std::uint8_t is_global = 0;
  std::uint8_t target_port = 0;  // 0: any, of a group
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint64_t total = 0;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  // bytes of the message that this part is; reads carry none
  Gid source_gid;
  Gid target_gid;
};
static_assert(std::is_trivially_copyable_v<FrameHeader> &&
              std::has_unique_object_representations_v<FrameHeader>);

// Nothing if it is not a frame, or says what cannot be.
std::optional<FrameHeader> header_of(std::span<const std::byte> frame);

}  // namespace scela::hca
