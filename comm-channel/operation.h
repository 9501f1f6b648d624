// What a request stands for, and what came before its receive: the state that a message has in a
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "comm-channel/core/matching.h"
#include "comm-channel/core/rendezvous.h"
#include "comm-channel/core/wire.h"
#include "comm-channel/include/scela/request.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/error.h"

namespace scela::channel {

class Progress;

enum class Phase : unsigned char {
  idle,     // persistent, and not started
  waiting,  // a send for room, or for what the receiver says; a receive for its message
  complete,
};

// A receive is what the matcher knows it by. In a pool of its messenger.
struct Operation : Posted {
  bool is_send = false;
  bool persistent = false;
  bool synchronous = false;  // of sends: complete when it was matched
  bool cancelling = false;   // of receives: to be cancelled, if its message is not on its way
  bool invalid = false;      // its arguments cannot be: it is complete with its error, always
  bool everybodys = false;  // of all sends that were over at once: complete, always, and in no pool
  Phase phase = Phase::idle;
  Progress* progress = nullptr;  // whose it is

  // A send's; of a receive: of the message that it has got.
  const std::byte* from = nullptr;
  std::size_t length = 0;
  std::int32_t peer = -1;
  std::int32_t tag = 0;
  std::uint32_t context = 0;
  // A receive's: `pattern` and `room` are the matcher's.
  std::byte* to = nullptr;

  // Of one that is not over with a message: its number, by which the other side speaks of it, and
  // the other's.
  std::uint32_t number = 0;
  std::uint32_t theirs = 0;
  Operation* next_free = nullptr;
  Status status;

  // What a small message has no use for stands behind what it touches.
  std::variant<std::monostate, SendTransfer, ReceiveTransfer> transfer;
  Offer offer;               // of a receive
  std::optional<Error> why;  // what the system says went wrong
  verbs::Registration memory;

  bool complete() const { return phase == Phase::complete; }
  std::span<const std::byte> sent_bytes() const { return {from, length}; }
  std::span<std::byte> received_bytes() const { return {to, room}; }
};

// A message without a receive.
struct Kept : Unexpected {
  std::unique_ptr<std::byte[]> bytes;  // of an eager one
  std::size_t capacity = 0;            // of `bytes`
  std::uint64_t missing = 0;           // of these, what has not come yet
  std::uint32_t number = 0;  // of an offer, or of one that is to be answered: the sender's
  std::optional<Offer> offer;
  bool synchronous = false;
  Kept* next_free = nullptr;
};

}  // namespace scela::channel
