// Frames: the same bytes give the same frames, or the same error, however the stream cuts them.
//
// The first byte of the input chooses where the stream is cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/core/frame.h"

namespace {

struct Outcome {
  std::vector<std::string> frames;  // kind and payload
  bool failed = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome decode(std::string_view stream, std::size_t piece) {
  scela::FrameDecoder decoder;
  Outcome out;
  for (std::size_t at = 0; at < stream.size() && !out.failed; at += piece) {
    decoder.feed(stream.substr(at, piece));
    for (;;) {
      auto got = decoder.next();
      out.failed = !got.has_value();
      if (!got || !*got) break;
      if ((*got)->payload.size() > scela::kMaxPayload) std::abort();
      out.frames.push_back(static_cast<char>((*got)->kind) + (*got)->payload);
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (decode(stream, 1 + data[0]) != decode(stream, stream.size() + 1)) std::abort();
  return 0;
}
