#include "comm-channel/engine/unexpected_store.h"

#include <bit>
#include <cstring>
#include <memory>

namespace scela::channel {

void UnexpectedStore::store(const Envelope& envelope, const Header& header,
                            std::span<const std::byte> bytes, std::uint64_t after) {
  UnexpectedMessage& message = allocate(envelope, bytes.size());
  if (!bytes.empty()) std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  keep(message, header, after);
}

void UnexpectedStore::store_offer(const Envelope& envelope, const Header& header, const Rts& rts,
                                  std::uint64_t after) {
  UnexpectedMessage& message = allocate(envelope, 0);
  message.rts = rts;
  keep(message, header, after);
}

UnexpectedMessage& UnexpectedStore::store_incomplete(const Envelope& envelope) {
  UnexpectedMessage& message = allocate(envelope, envelope.length);
  message.missing = envelope.length;
  matcher_.keep(message);
  return message;
}

void UnexpectedStore::recycle(UnexpectedMessage& message) {
  message.rts.reset();
  pool_.give_back(message);
}

UnexpectedMessage& UnexpectedStore::allocate(const Envelope& envelope, std::size_t room) {
  UnexpectedMessage& message = pool_.take();
  message.envelope = envelope;
  message.after = 0;
  message.number = 0;
  message.synchronous = false;
  message.missing = 0;
  message.kept = room;
  if (message.capacity < room) {
    message.capacity = std::bit_ceil(room);
    message.bytes = std::make_unique_for_overwrite<std::byte[]>(message.capacity);
  }
  return message;
}

void UnexpectedStore::keep(UnexpectedMessage& message, const Header& header, std::uint64_t after) {
  message.after = after;
  message.number = header.number;
  message.synchronous = (header.flags & flag::kSynchronous) != 0;
  matcher_.keep(message);
}

}  // namespace scela::channel
