#include "common/core/frame.h"

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

Result<std::optional<Frame>> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < kFrameHeader) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    return std::nullopt;
  }
  ByteReader in(rest);
  const std::uint8_t version = in.u8();
  const std::uint8_t kind = in.u8();
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
  if (in.rest().size() < length) {
    if (consumed_ > 0) {
      buffer_.erase(0, consumed_);
      consumed_ = 0;
    }
    return std::nullopt;
  }
  consumed_ += kFrameHeader + length;
  return Frame{kind, std::string(in.raw(length))};
}

}  // namespace scela
