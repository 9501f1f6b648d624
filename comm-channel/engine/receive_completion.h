// Ends receives: moves the bytes of a message into the buffer of its receive, writes the status and
// counts the message. The parts of the messenger through which messages come use it
// (comm-channel/messenger/match_queue.h).
//
// Only one thread at a time may call it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/core/match/envelope.h"
#include "comm-channel/engine/guarded_copy.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

class ReceiveCompletion {
 public:
  // Both must outlive this object.
  ReceiveCompletion(Peers& peers, GuardedCopy& guarded_copy)
      : peers_(peers), guarded_copy_(guarded_copy) {}

  // Copies the message into the receive's buffer, as far as there is room, and completes the
  // receive. A buffer that is unmapped raises SIGSEGV.
  void deliver(Operation& receive, const Envelope& envelope, std::span<const std::byte> bytes);
  // Does so for many bytes, if one of the buffers may be unmapped. The receive then ends with an
  // error, and the result is false.
  bool deliver_guarded(Operation& receive, const Envelope& envelope,
                       std::span<const std::byte> bytes);
  // Completes a receive that has `bytes` bytes of the message in its buffer. Its status is an error
  // if the message is longer than the buffer.
  void complete(Operation& receive, const Envelope& envelope, std::uint64_t bytes);

 private:
  // Completes a receive of several pieces.
  void complete_pieces(Operation& receive, const Envelope& envelope);
  static void truncate(Operation& receive, const Envelope& envelope);

  Peers& peers_;
  GuardedCopy& guarded_copy_;
};

// These are called for each small message.
inline void ReceiveCompletion::deliver(Operation& receive, const Envelope& envelope,
                                       std::span<const std::byte> bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), receive.room);
  shm::copy_bytes(receive.to, bytes.data(), size);
  complete(receive, envelope, size);
}

inline void ReceiveCompletion::complete(Operation& receive, const Envelope& envelope,
                                        std::uint64_t bytes) {
  StatusWriter::set_message(receive.status, envelope.source, envelope.tag, envelope.length);
  peers_.count_received(envelope.source, bytes);
  if (receive.in_pieces) [[unlikely]]
    return complete_pieces(receive, envelope);
  if (envelope.length <= receive.room) [[likely]]
    receive.phase = Phase::complete;
  else
    truncate(receive, envelope);
}

}  // namespace scela::channel
