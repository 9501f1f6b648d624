#include "hca/core/wire/engine_frame.h"

#include <cstring>

namespace scela::hca {

std::optional<FrameHeader> header_of(std::span<const std::byte> frame) {
  FrameHeader header;
  if (frame.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, frame.data(), sizeof header);
  const std::uint64_t payload = frame.size() - sizeof header;
  if (header.total > limit::kMessageBytes || header.offset > header.total ||
      header.count > header.total - header.offset || header.target_port > limit::kPorts)
    return std::nullopt;
  switch (header.kind) {
    case FrameKind::answer:
    case FrameKind::taken:
    case FrameKind::read_on:
    case FrameKind::again:
      return payload == 0 ? std::optional(header) : std::nullopt;
    case FrameKind::data:
      return payload == header.count && payload <= kMaxPayload ? std::optional(header)
                                                               : std::nullopt;
    case FrameKind::request:
      break;
    default:
      return std::nullopt;
  }
  const bool carries = header.opcode != Opcode::rdma_read &&
                       header.opcode != Opcode::compare_swap && header.opcode != Opcode::fetch_add;
  if (!carries)
    return payload == 0 && header.count == header.total ? std::optional(header) : std::nullopt;
  return payload == header.count && payload <= kMaxPayload ? std::optional(header) : std::nullopt;
}

}  // namespace scela::hca
