#include "nla/core/wire/terminal_input.h"

#include "common/core/bytes.h"

namespace scela::nla {

namespace {

constexpr std::size_t kHead = 4 + 1 + 2;  // rank, kind, length
constexpr std::size_t kSizeBytes = 8;

}  // namespace

std::string encode(const TerminalInput& input) {
  ByteWriter out;
  out.u32(input.rank);
  out.u8(static_cast<std::uint8_t>(input.kind));
  switch (input.kind) {
    case TerminalInput::Kind::keys:
      out.u16(static_cast<std::uint16_t>(input.keys.size()));
      out.raw(input.keys);
      break;
    case TerminalInput::Kind::size:
      out.u16(kSizeBytes);
      out.u16(input.size.rows);
      out.u16(input.size.columns);
      out.u16(input.size.x_pixels);
      out.u16(input.size.y_pixels);
      break;
    case TerminalInput::Kind::hang_up:
      out.u16(0);
      break;
  }
  return out.take();
}

std::optional<TerminalInput> TerminalInputReader::next() {
  if (broken_ || bytes_.size() < kHead) return std::nullopt;
  ByteReader in(bytes_);
  TerminalInput out;
  out.rank = in.u32();
  const std::uint8_t kind = in.u8();
  const std::size_t length = in.u16();
  out.kind = static_cast<TerminalInput::Kind>(kind);
  const bool fits = out.kind == TerminalInput::Kind::keys   ? length <= kMaxKeys
                    : out.kind == TerminalInput::Kind::size ? length == kSizeBytes
                                                            : length == 0;
  if (kind > static_cast<std::uint8_t>(TerminalInput::Kind::hang_up) || !fits) {
    broken_ = true;
    return std::nullopt;
  }
  if (in.rest().size() < length) return std::nullopt;
  if (out.kind == TerminalInput::Kind::keys) out.keys = in.raw(length);
  if (out.kind == TerminalInput::Kind::size) {
    out.size = {in.u16(), in.u16(), in.u16(), in.u16()};
  }
  bytes_.erase(0, kHead + length);
  return out;
}

}  // namespace scela::nla
