// Frames: how a link's byte stream is cut into messages.
//
//   frame   := version:u8 kind:u8 reserved:u16 length:u32 payload
//   version := 1; another version is an error that names both
//   length  := bytes of payload, at most kMaxPayload
//
// All integers little-endian. Knows nothing of what the kinds mean. A decoder is fed whatever the
// stream delivers and yields whole frames; it holds at most one frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeader = 8;
// Bulk data travels in pieces of at most this size, so one slow transfer never holds a link for
// long and a forwarding agent holds little. Smaller: more frames per megabyte; larger: more delay
// per hop.
inline constexpr std::size_t kMaxPiece = std::size_t{64} * 1024;
// A piece plus the fields around it. A peer that announces more is broken or hostile.
inline constexpr std::size_t kMaxPayload = std::size_t{128} * 1024;

struct Frame {
  std::uint8_t kind = 0;
  std::string payload;
};

// The eight header bytes in front of a payload of `length` bytes; requires length <= kMaxPayload.
std::string frame_header(std::uint8_t kind, std::size_t length);

class FrameDecoder {
 public:
  // Takes the bytes that arrived. Follow with next() until it is empty.
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame; empty when more bytes are needed. An error is final: the stream has lost
  // its frame boundaries and the link must end.
  Result<std::optional<Frame>> next();
  // True between frames: the stream may end here without loss.
  bool at_boundary() const { return buffer_.size() == consumed_; }

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
};

}  // namespace scela
