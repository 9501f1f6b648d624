// Fuzzes what comes from another process by shared memory or by verbs. The bytes are read as the
// channel does, and written again, which must give the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "comm-channel/core/protocol/wire.h"

namespace {

using namespace scela::channel;
using Bytes = std::span<const std::byte>;

void expect_same(Bytes bytes, const Header& header, Bytes body, Bytes rest) {
  std::vector<std::byte> again(bytes.size());
  if (write(again, header, body, rest) != bytes.size()) std::abort();
  if (!std::ranges::equal(bytes, again)) std::abort();
  if (write(std::span(again).first(again.size() - 1), header, body, rest) != 0) std::abort();
}

template <class Body>
void read_only(Bytes bytes, const Message& message) {
  if (const auto body = only_body_of<Body>(message.payload))
    expect_same(bytes, message.header, bytes_of(*body), {});
}

void read_left(Bytes bytes, const Message& message) {
  const auto left = left_of(message.payload);
  if (!left) return;
  std::vector<Parked> parked;
  for (std::uint32_t i = 0; i < left->agreement.first; ++i)
    parked.push_back(left->parked(i));
  expect_same(bytes, message.header, bytes_of(left->agreement), std::as_bytes(std::span(parked)));
}

void read_opening(Bytes bytes, const Message& message) {
  const auto opening = opening_of(message.header.kind, message.payload);
  if (!opening) return;
  if (message.header.kind == Kind::open && !opening->end) std::abort();
  expect_same(bytes, message.header, bytes_of(opening->agreement),
              opening->end ? bytes_of(*opening->end) : Bytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const auto message = message_of(bytes);
  if (!message) return 0;
  if (message->header.source < 0 || message->header.tag < 0) std::abort();
  if (name_of(message->header.kind) == "unknown") std::abort();
  switch (message->header.kind) {
    case Kind::eager:
      expect_same(bytes, message->header, {}, message->payload);
      break;
    case Kind::piece:
      if (const auto piece = body_of<Piece>(message->payload))
        expect_same(bytes, message->header, bytes_of(piece->body), piece->rest);
      break;
    case Kind::rts:
      read_only<Rts>(bytes, *message);
      break;
    case Kind::cts:
      read_only<Cts>(bytes, *message);
      break;
    case Kind::fin:
      read_only<Fin>(bytes, *message);
      break;
    case Kind::credit:
      read_only<Credit>(bytes, *message);
      break;
    case Kind::left:
      read_left(bytes, *message);
      break;
    case Kind::open:
    case Kind::opened:
      read_opening(bytes, *message);
      break;
    default:
      read_only<Agreement>(bytes, *message);
  }
  return 0;
}
