// Frames: how a link's byte stream is cut into messages. A link is the connection of an agent to
// its parent; nla/ and pmix/ use frames.
//
//   frame   := version:u8 kind:u8 reserved:u16 length:u32 payload
//   version := 1; another version is an error that names both
//   length  := bytes of payload, at most kMaxPayload
//
// All integers are little-endian. This part knows nothing of what the kinds mean. A decoder takes
// the bytes that the stream delivers and returns whole frames. It holds at most one frame if next()
// empties it after each feed(). It has no lock, and one thread at a time uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

inline constexpr std::uint8_t kFrameVersion = 1;  // the first byte of every frame
inline constexpr std::size_t kFrameHeader = 8;    // bytes
// Bulk data travels in pieces of at most this many bytes. So one slow transfer never holds a link
// for long, and a forwarding agent holds little. A smaller value takes more frames for each
// megabyte; a larger one delays each hop more.
inline constexpr std::size_t kMaxPiece = std::size_t{64} * 1024;
// Bytes: a piece and the fields around it. A peer that announces more is broken or hostile.
inline constexpr std::size_t kMaxPayload = std::size_t{128} * 1024;

// One message. `kind` is a number that the two ends of the link give a meaning (nla/core/wire).
struct Frame {
  std::uint8_t kind = 0;
  std::string payload;
};

// Returns the eight header bytes that a sender puts in front of a payload of `length` bytes.
// Requires length <= kMaxPayload.
std::string frame_header(std::uint8_t kind, std::size_t length);

// Cuts the bytes of one stream into frames. A caller uses either next(bytes), which copies a byte
// once, or feed() and next().
class FrameDecoder {
 public:
  // Takes bytes that arrived off the front of `bytes`. Returns the frame that they complete, or
  // std::nullopt if all are taken and more are needed. Errors are those of next().
  Result<std::optional<Frame>> next(std::string_view& bytes);

  // Takes the bytes that arrived. The caller then calls next() until it returns no frame.
  void feed(std::string_view bytes) { fed_.append(bytes); }
  // Returns the next whole frame, or std::nullopt if more bytes are needed. An error (kind
  // protocol) is final: the stream has lost its frame boundaries and the link must end.
  Result<std::optional<Frame>> next();
  // Returns true between frames: the stream may end here without loss.
  bool at_boundary() const { return header_.empty() && fed_.size() == consumed_; }

 private:
  // Reads the header, which is complete. Returns an error if it is none of this version.
  Result<void> begin_frame();

  std::string header_;                 // of the frame that has begun to arrive
  Frame frame_;                        // its kind, and as much of its payload as has arrived
  std::optional<std::size_t> length_;  // of the whole payload, once the header was read
  std::string fed_;
  std::size_t consumed_ = 0;  // bytes of `fed_`
};

}  // namespace scela
