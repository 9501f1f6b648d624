#include "common/core/frame.h"

#include <algorithm>
#include <utility>

#include "common/core/bytes.h"
#include "common/core/text.h"

namespace scela {

std::string frame_header(std::uint8_t kind, std::size_t length) {
  ByteWriter out;
  out.u8(kFrameVersion);
  out.u8(kind);
  out.u16(0);
  out.u32(static_cast<std::uint32_t>(length));
  return out.take();
}

Result<void> FrameDecoder::begin_frame() {
  ByteReader in(header_);
  const std::uint8_t version = in.u8();
  frame_.kind = in.u8();
  const std::uint16_t reserved = in.u16();
  const std::uint32_t length = in.u32();
  const auto broken = [](std::string why, std::string hint) {
    return scela::fail(
        Error{ErrorKind::protocol, "read a frame", "", std::move(why), std::move(hint)});
  };
  if (version != kFrameVersion || reserved != 0) {
    return broken(cat("frame version ", static_cast<unsigned>(version), ", this side speaks ",
                      static_cast<unsigned>(kFrameVersion)),
                  "install the same version of ScELA on all nodes");
  }
  if (length > kMaxPayload) {
    return broken(cat("a frame of ", length, " bytes, the limit is ", kMaxPayload), "");
  }
  frame_.payload.reserve(length);
  length_ = length;
  return {};
}

Result<std::optional<Frame>> FrameDecoder::next(std::string_view& bytes) {
  const auto take = [&bytes](std::string& to, std::size_t whole) {
    const std::size_t part = std::min(whole - to.size(), bytes.size());
    to.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    return to.size() == whole;
  };
  if (!length_) {
    if (!take(header_, kFrameHeader)) return std::nullopt;
    if (Result<void> begun = begin_frame(); !begun) return scela::fail(begun.error());
  }
  if (!take(frame_.payload, *length_)) return std::nullopt;
  header_.clear();
  length_.reset();
  return std::exchange(frame_, {});
}

Result<std::optional<Frame>> FrameDecoder::next() {
  std::string_view rest = std::string_view(fed_).substr(consumed_);
  auto frame = next(rest);
  consumed_ = fed_.size() - rest.size();
  if (rest.empty()) {
    fed_.clear();
    consumed_ = 0;
  }
  return frame;
}

}  // namespace scela
