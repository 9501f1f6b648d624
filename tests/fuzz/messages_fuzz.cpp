// Agents' messages: whatever decodes can be forwarded, and arrives as it was. The first byte of the
// input is the frame's kind.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nla/core/messages.h"

using namespace scela;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size - 1 > kMaxPayload) return 0;
  const auto first = nla::decode(Frame{data[0], std::string(data + 1, data + size)});
  if (!first) return 0;
  const nla::Encoded encoded = nla::encode(*first);
  FrameDecoder stream;
  stream.feed(encoded.head);
  stream.feed(encoded.tail.view());
  const auto frame = stream.next();
  if (!frame || !*frame || !stream.at_boundary()) std::abort();
  const auto second = nla::decode(**frame);
  if (!second || second->index() != first->index()) std::abort();
  const nla::Encoded again = nla::encode(*second);
  if (again.head != encoded.head || !(again.tail == encoded.tail)) std::abort();
  return 0;
}
