// Fuzzes frames about a link: a frame that is accepted has one meaning, and is written as it was
// read.
//
// The first byte of the input is the frame's kind.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nla/core/wire/link_frames.h"

using namespace scela;
using namespace scela::nla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size - 1 > kMaxPayload) return 0;
  const Frame frame{data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1)};
  const std::string bytes = frame_header(frame.kind, frame.payload.size()) + frame.payload;
  const auto introduction = decode_introduction(frame);
  const auto offer = decode_offer(frame);
  const bool accepted = check_link_frame(frame).has_value();
  switch (static_cast<LinkFrame>(frame.kind)) {
    case LinkFrame::introduce:
      if (accepted != introduction.has_value()) std::abort();
      if (introduction && introduction->common.size() != kCommonKeyBytes) std::abort();
      if (introduction &&
          decode_introduction({frame.kind, encode(*introduction).substr(kFrameHeader)}) !=
              introduction) {
        std::abort();
      }
      break;
    case LinkFrame::offer:
      if (accepted != offer.has_value()) std::abort();
      if (offer && decode_offer({frame.kind, encode(*offer).substr(kFrameHeader)}) != offer)
        std::abort();
      break;
    case LinkFrame::ask:
      if (frame.payload.empty() && !accepted) std::abort();
      break;
    case LinkFrame::beat:
    case LinkFrame::change:
      if (accepted != frame.payload.empty()) std::abort();
      break;
    default:
      if (accepted) std::abort();
  }
  return 0;
}
