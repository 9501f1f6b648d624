// Keeps the messages that came before their receives: takes memory for them, and passes them to the
// matcher, which keeps their order. The parts of the messenger through which messages come use it
// (comm-channel/messenger/match_queue.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/pool.h"

namespace scela::channel {

class UnexpectedStore {
 public:
  // `matcher` must outlive this object.
  explicit UnexpectedStore(Matcher& matcher) : matcher_(matcher) {}

  // Keeps a message with its bytes. `after` is that of Unexpected.
  void store(const Envelope& envelope, const Header& header, std::span<const std::byte> bytes,
             std::uint64_t after = 0);
  // Keeps a message that is only offered: its bytes are still at the sender.
  void store_offer(const Envelope& envelope, const Header& header, const Rts& rts,
                   std::uint64_t after = 0);
  // Keeps a message of which no bytes have come, with memory for all of them. It is valid until
  // recycle().
  UnexpectedMessage& store_incomplete(const Envelope& envelope);
  // Returns to the pool a message that does not wait in the matcher any more. Its memory is used
  // for later messages.
  void recycle(UnexpectedMessage& message);

 private:
  // Returns a message that the matcher does not hold yet, with memory for `room` bytes.
  UnexpectedMessage& allocate(const Envelope& envelope, std::size_t room);
  // Writes what the header says into the message, and passes it to the matcher.
  void keep(UnexpectedMessage& message, const Header& header, std::uint64_t after);

  Matcher& matcher_;
  Pool<UnexpectedMessage> pool_;
};

}  // namespace scela::channel
