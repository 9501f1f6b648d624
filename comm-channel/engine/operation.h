// The state of a message within its process: the operation behind a request, and a message that
// came before its receive. The messenger owns both (comm-channel/messenger/messenger.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/rendezvous.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/scatter_gather.h"
#include "comm-channel/engine/status_writer.h"
#include "comm-channel/include/rank_group.h"
#include "comm-channel/include/scela/request.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/error.h"

namespace scela::channel {

class Progress;

// How far an operation has come.
enum class Phase : unsigned char {
  idle,     // persistent, and not started
  waiting,  // for room, the receiver or a message
  complete,
};

// An operation is a send or a receive. The matcher knows a receive by its base class. Operations
// are kept in a pool of the messenger.
struct Operation : Posted {
  bool is_send = false;
  bool synchronous = false;     // a send that completes when matched
  bool everybodys = false;      // shared; complete, and in no pool
  bool was_waited_for = false;  // complete, and wait() has returned its status
  bool persistent : 1 = false;  // Request::start() starts it again
  bool cancelling : 1 = false;  // a receive; cancelled if it is possible
  bool invalid : 1 = false;     // always complete, with its error
  // Most operations have none of these, which share a byte with those above.
  bool in_pieces : 1 = false;     // `pieces` is set
  bool in_group : 1 = false;      // `group` is set
  bool untranslated : 1 = false;  // the status has ranks of the channel, and `group` is set
  Phase phase = Phase::idle;
  Progress* progress = nullptr;  // of its channel

  // These describe a send, or the message that a receive has got.
  const std::byte* from = nullptr;
  std::size_t length = 0;
  std::int32_t peer = -1;
  std::int32_t tag = 0;
  std::uint32_t context = 0;
  // These describe a receive, besides `pattern` and `room` of the matcher.
  std::byte* to = nullptr;

  // The numbers by which each side names an operation that needs further messages: this side's, and
  // the other side's.
  std::uint32_t number = 0;
  std::uint32_t theirs = 0;
  Operation* next_free = nullptr;
  Status status;

  // Small messages do not use the members below, so these stand behind those that small messages
  // use.
  std::variant<std::monostate, SendTransfer, ReceiveTransfer> transfer;
  Rts rts;                   // of a receive
  std::optional<Error> why;  // the system's reason of a failure
  verbs::Registration memory;
  // The pieces of a message that has several; `from` or `to` is their whole.
  std::unique_ptr<ScatterGather> pieces;
  // The user of the request knows ranks by the numbers of this communicator.
  std::shared_ptr<const RankGroup> group;

  bool complete() const { return phase == Phase::complete; }
  // These end the operation; its user sees that at the next look. An error that is ok is a success.
  void finish() { phase = Phase::complete; }
  void finish(Status error) {
    StatusWriter::set_error(status, std::move(error));
    phase = Phase::complete;
  }
  // Gives the operation its pieces, or none if null, before it begins. Its buffer is their whole.
  void set_pieces(std::unique_ptr<ScatterGather> of_message) {
    in_pieces = of_message != nullptr;
    pieces = std::move(of_message);
  }
  std::span<const std::byte> sent_bytes() const { return {from, length}; }
  std::span<std::byte> received_bytes() const { return {to, room}; }
};

// A message that has no receive yet.
struct UnexpectedMessage : Unexpected {
  std::unique_ptr<std::byte[]> bytes;  // of an eager one
  std::size_t capacity = 0;            // of `bytes`
  std::uint64_t missing = 0;           // bytes that have not come yet
  std::uint32_t number = 0;            // the sender's, of an offer or a wait
  std::optional<Rts> rts;
  bool synchronous = false;
  UnexpectedMessage* next_free = nullptr;
};

}  // namespace scela::channel
