// The receiver's side of messages that come in fragments: on a node, those that are too long for
// one cell of shared memory and too short to be worth a system call (docs/design/channel.md, Shared
// memory on a node). Each rank of the node sends one such message at a time. The messenger uses it;
// SendQueue has the sender's side (comm-channel/messenger/send_queue.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/engine/unexpected_store.h"

namespace scela::channel {

class Reassembler {
 public:
  // The references must outlive this object. `ranks` is the size of the job.
  Reassembler(std::size_t ranks, const Transports& transports, Matcher& matcher,
              UnexpectedStore& unexpected, ReceiveCompletion& completion);

  // Handle the first fragment, or the next one, of a message of the rank. They copy it to where the
  // message goes, and complete the receive with the last one. Fragments that no correct sender
  // sends are ignored.
  void on_first_fragment(int rank, const Header& header, std::span<const std::byte> fragment);
  void on_fragment(int rank, std::span<const std::byte> fragment);
  // Moves the fragments that are there of an incomplete message into the receive that has got it.
  // The fragments that are missing go to its buffer when they come. If the sender has ended, the
  // receive fails.
  void attach(Operation& receive, UnexpectedMessage& message);
  // Drops such a message: its other fragments will be ignored.
  void ignore(const UnexpectedMessage& message);
  // Fails the receive that waits for the rest of a message of the rank, which has ended.
  void end(int rank);

 private:
  // The message that comes from a rank; it is complete if `came` is its length.
  struct Message {
    Envelope envelope;
    std::uint64_t came = 0;             // bytes
    Operation* receive = nullptr;       // that gets it; null: it is
    UnexpectedMessage* kept = nullptr;  // unexpected; both null: ignored
  };

  Message& message_of(int rank) { return messages_[static_cast<std::size_t>(rank)]; }

  const Transports& transports_;
  Matcher& matcher_;
  UnexpectedStore& unexpected_;
  ReceiveCompletion& completion_;
  std::vector<Message> messages_;  // by rank
};

}  // namespace scela::channel
