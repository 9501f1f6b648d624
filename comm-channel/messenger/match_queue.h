// The receives of one process and the messages that come to it: each message goes to the receive
// that it matches, or is kept until there is one. The messenger uses it
// (comm-channel/messenger/messenger.h).
//
// Matcher decides which receive gets a message (comm-channel/core/match/matching.h). This class
// begins what follows: it delivers the bytes, accepts an offer, or answers the sender.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/engine/unexpected_store.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/messenger/offload_path.h"
#include "comm-channel/messenger/reassembler.h"
#include "comm-channel/messenger/transfers.h"

namespace scela::channel {

class ReceiveQueue {
 public:
  // The references must outlive this object.
  ReceiveQueue(const Peers& peers, const Transports& transports, Matcher& matcher,
               UnexpectedStore& unexpected, OffloadPath& offload, ReceiveCompletion& completion,
               Transfers& transfers, Reassembler& reassembler);

  // Starts a receive in Phase::waiting. It may be complete at once.
  void begin(Operation& operation);
  // Completes a receive that waits with Code::cancelled, and returns true. Returns false if the
  // receive was matched already, or if that is not known yet.
  bool cancel(Operation& receive);

  // Both return null if no message fits the pattern. take() also removes the message; receive() or
  // drop() must follow.
  Unexpected* probe(const Pattern& pattern) { return offload_.probe(pattern); }
  Unexpected* take(const Pattern& pattern) { return offload_.take(pattern); }
  // Moves a message that was taken into the receive, which completes when the bytes are there.
  void receive(Operation& operation, Unexpected& unexpected);
  // Drops a message that was taken. `outcome` is reported to its sender, if that waits: that the
  // message has arrived (none), or why it was not received.
  void drop(Unexpected& unexpected, Outcome outcome);
  // Drops all messages, and reports to their senders that the channel closes.
  void refuse_all();

  // discard() drops the messages of `count` contexts from `first` on: those that have come, and by
  // drop_unwanted() those that come later. After accept(), messages that come are kept again.
  void discard(Context first, Context count);
  void accept(Context first, Context count);
  void drop_unwanted();
  // Returns how many unwanted messages drop_unwanted() has looked at.
  std::uint64_t unwanted_looks() const { return unwanted_looks_; }

  // Handle a whole message (eager) or the offer of one (RTS) of the rank: they deliver it to the
  // receive that it matches, or keep it. The payload is valid until the function returns.
  void on_eager(int rank, const Header& header, std::span<const std::byte> payload) {
    const std::uint64_t after = offload_.came_outside(rank);
    const Envelope envelope{header.context, rank, header.tag, payload.size()};
    Posted* const receive = matcher_.arrived(envelope);
    if (receive == nullptr) return unexpected_.store(envelope, header, payload, after);
    completion_.deliver(static_cast<Operation&>(*receive), envelope, payload);
    if ((header.flags & flag::kSynchronous) != 0) transfers_.acknowledge(rank, header.number);
  }
  void on_rts(int rank, const Header& header, std::span<const std::byte> payload);

  // Fail the waiting receives that name the rank, or ranks that have ended, or any rank.
  void fail_receives_of(int rank);
  void fail_receives_of_ended();
  void fail_receives_of_any(const Status& error);

 private:
  // Drops the messages of a pattern, or of contexts.
  void drop_all(const Pattern& pattern);
  void drop_all(const ContextSet::Run& contexts);
  // Completes receives that the matcher has taken and linked. `first` may be null.
  static void fail(Posted* first, const Status& error);

  const Peers& peers_;
  const Transports& transports_;
  Matcher& matcher_;
  UnexpectedStore& unexpected_;
  OffloadPath& offload_;
  ReceiveCompletion& completion_;
  Transfers& transfers_;
  Reassembler& reassembler_;
  std::uint64_t unwanted_looks_ = 0;
};

}  // namespace scela::channel
