// Fuzzes agents' messages: each message that decodes can be forwarded, and arrives as it was. The
// first byte of the input is the frame's kind.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <variant>

#include "nla/core/wire/agent_messages.h"

using namespace scela;

namespace {

bool same(const nla::Message& a, const nla::Message& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        using M = std::decay_t<decltype(left)>;
        const M& right = std::get<M>(b);
        if constexpr (std::is_same_v<M, nla::msg::Log>) {  // LogRecord has no ==
          return left.record.level == right.record.level &&
                 left.record.subsystem == right.record.subsystem &&
                 left.record.node == right.record.node && left.record.text == right.record.text;
        } else {
          return left == right;
        }
      },
      a);
}

}  // namespace

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
  if (!second || !same(*first, *second)) std::abort();
  return 0;
}
