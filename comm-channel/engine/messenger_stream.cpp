// Messages in parts: on a node, those that are too long for one cell and too short to be worth a
// system call. The receiver takes a part out of shared memory while the sender puts in the next.
//
// The parts of a message are not mixed with other ordered messages of its pair, so a part needs no
// identification.
#include <algorithm>
#include <cstring>
#include <utility>

#include "comm-channel/engine/messenger.h"

namespace scela::channel {

namespace {

// A part is short enough that both sides move most of a message at once. It is long enough that
// publishing a part costs little beside it.
constexpr std::size_t kPart = 2048;

void put_in(std::byte* to, std::size_t room, std::uint64_t at, std::span<const std::byte> part) {
  const std::size_t size =
      std::min<std::uint64_t>(part.size(), room - std::min<std::uint64_t>(at, room));
  if (size != 0) std::memcpy(to + at, part.data(), size);
}

}  // namespace

// Returns false if there is no room for all parts now. The parts that were sent stay sent.
bool Messenger::give_parts(int rank, Outgoing& outgoing) {
  const std::span<const std::byte> bytes = outgoing.operation->sent_bytes();
  const std::size_t most = std::min(kPart, node_->most());
  Header header = outgoing.header;
  header.number = static_cast<std::uint32_t>(bytes.size());
  while (outgoing.given < bytes.size()) {
    header.kind = outgoing.given == 0 ? Kind::first_part : Kind::part;
    const auto part = bytes.subspan(outgoing.given, std::min(most, bytes.size() - outgoing.given));
    if (!give_message(rank, header, part)) return false;
    outgoing.given += part.size();
  }
  count_sent(rank, bytes.size());
  complete(*outgoing.operation);
  return true;
}

void Messenger::begin_stream(int rank, const Header& header, std::span<const std::byte> part) {
  Stream& stream = peer(rank).stream;
  const Envelope envelope{header.context, rank, header.tag, header.number};
  // A first part that no correct sender sends is ignored.
  if (stream.came != stream.envelope.length || envelope.length > kMaxStreamed) return;
  stream = {envelope, 0, nullptr, nullptr};
  if (Posted* const receive = matcher_.arrived(envelope)) {
    stream.receive = static_cast<Operation*>(receive);
  } else {
    stream.kept = &unexpected_for(envelope, envelope.length);
    stream.kept->missing = envelope.length;
    matcher_.keep(*stream.kept);
  }
  take_part(rank, part);
}

void Messenger::take_part(int rank, std::span<const std::byte> part) {
  Stream& stream = peer(rank).stream;
  const std::uint64_t at = stream.came;
  if (part.size() > stream.envelope.length - at) return;
  stream.came += part.size();
  const bool last = stream.came == stream.envelope.length;
  if (stream.receive != nullptr) {
    Operation& operation = *stream.receive;
    put_in(operation.to, operation.room, at, part);
    if (!last) return;
    stream.receive = nullptr;
    received(operation, stream.envelope, std::min<std::uint64_t>(stream.came, operation.room));
  } else if (stream.kept != nullptr) {
    put_in(stream.kept->bytes.get(), stream.kept->capacity, at, part);
    stream.kept->missing -= part.size();
    if (last) stream.kept = nullptr;
  }
}

// Receives a message that has not come whole: the rest goes where the receive wants it.
void Messenger::receive_stream(Operation& operation, UnexpectedMessage& message) {
  const int rank = message.envelope.source;
  Stream& stream = peer(rank).stream;
  if (stream.kept != &message) return complete(operation, peer_ended(rank));
  put_in(operation.to, operation.room, 0, {message.bytes.get(), stream.came});
  stream.kept = nullptr;
  stream.receive = &operation;
}

void Messenger::drop_stream(const UnexpectedMessage& message) {
  Stream& stream = peer(message.envelope.source).stream;
  if (stream.kept == &message) stream.kept = nullptr;
}

// The rank has ended, and the rest of its message does not come any more.
void Messenger::end_stream(int rank) {
  const Stream broken = std::exchange(peer(rank).stream, {});
  if (broken.receive != nullptr) complete(*broken.receive, peer_ended(rank));
}

}  // namespace scela::channel
