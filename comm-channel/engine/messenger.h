// The messages of one process: how sends, receives and arrivals act on each other. The messenger
// moves what can be moved at once and never waits; comm-channel/api/channel.cpp waits.
//
// Only one thread at a time may call it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/rendezvous.h"
#include "comm-channel/core/protocol/request_table.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/guarded_copy.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offloader.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/pool.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

class Messenger final : private NetworkUser, private OffloadUser {
 public:
  // `node` is null if this process is alone on its node. `network` is null if there are no other
  // nodes.
  Messenger(const World& world, const Options& options, std::unique_ptr<shm::NodeLink> node,
            std::unique_ptr<Network> network);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  ~Messenger();

  // Returns an operation that has not begun. The caller gives it back with release().
  Operation& send_operation(int to, int tag, std::span<const std::byte> bytes, Context context);
  Operation& receive_operation(int source, int tag, std::span<std::byte> bytes, Context context);
  // Starts the operation; it may be complete at once. A persistent one is started again and again.
  void begin(Operation& operation);
  // The operation must be complete, or must not have begun.
  void release(Operation& operation);
  // Returns false if the operation is a send, if it was matched already, or if that is not known
  // yet. In the last case it ends later with its message, or as cancelled.
  bool cancel(Operation& operation);

  // Sends a small message to a rank of this node if nothing has to be waited for. Returns false if
  // the message must become an operation.
  bool send_at_once(int to, int tag, std::span<const std::byte> bytes, Context context);

  // Both return null if no message fits the pattern yet. take() also removes the message, so that
  // no other receive gets it; receive() or drop() must follow.
  Unexpected* probe(const Pattern& pattern);
  Unexpected* take(const Pattern& pattern);
  // Moves a message that was taken into the receive, which completes when the bytes are there.
  void receive(Operation& operation, Unexpected& unexpected);
  // Drops a message that was taken and will not be received. `told` says what its sender is told:
  // that the message has arrived, or why it has not been received.
  void drop(Unexpected& unexpected, Outcome told = Outcome::none);
  // After discard(), messages of these contexts are dropped: those that have come, and those that
  // poll() finds. After accept(), messages that come are kept again.
  void discard(Context first, Context count = 1);
  void accept(Context first, Context count);
  // Returns how many unwanted messages poll() has looked at for that.
  std::uint64_t unwanted_looks() const { return unwanted_looks_; }

  // Returns how many messages came, plus one if a message that had waited for room was sent.
  // Returns 0 if nothing has changed.
  unsigned poll();
  // Returns whether something waits to be sent because it has no room.
  bool blocked() const { return !busy_.empty(); }
  // Returns whether something that others wait for waits to be sent. Messages about offloaded
  // channels do not count.
  bool owes() const;
  // Returns whether sends wait for receivers.
  bool unanswered() const { return !request_table_.empty(); }
  // Finds ranks of this node that have ended since the last call, and fails what waits for them.
  void notice_ends();
  // Does so for ranks of other nodes that `failed` reports.
  template <class Failed>
  void notice_failures(const Failed& failed) {
    for (int rank = 0; rank < world_.size; ++rank)
      if (peer(rank).local < 0 && rank != world_.rank && !has_ended(rank) && failed(rank)) {
        ended_elsewhere(rank);
      }
  }
  // Asks `left` whether ranks of other nodes have ended well. It asks about ranks that a receive or
  // a probe waits for, if no connection shows their end. It asks about a limited number at a time.
  // Returns false if there was no rank to ask about.
  template <class Left>
  bool notice_leavers(const Left& left) {
    const std::vector<int> awaited = awaited_unconnected();
    for (const int rank : awaited)
      if (left(rank)) ended_elsewhere(rank);
    return !awaited.empty();
  }
  // Notes that the caller probed for a message of the rank and found none.
  void probed_in_vain(int rank) { probed_ = rank; }
  // The rank has ended, or cannot be reached (`why` is not empty). Fails what waits for it. Must be
  // called only once for a rank.
  void ended(int rank, std::string why = {});
  // Fails receives from any source if all other ranks have ended. A caller that waits and has
  // nothing to move calls this.
  void notice_solitude();
  // Returns true if all other ranks have ended, and there were others.
  bool nobody_left() const {
    return world_.size > 1 && ended_.size() + 1 == static_cast<std::size_t>(world_.size);
  }
  static ChannelError error_of_solitude();
  // Drops, before the process ends, what others need not wait for.
  void finish();
  // Ends the receives of open requests if their messages have not come. Tells the senders of
  // messages that have come that nothing receives them. Returns true if nothing uses a buffer of
  // the program any more.
  bool end_requests();
  // Closes the messenger afterwards: what begins later fails. Returns how many requests are left.
  std::size_t close();
  bool has_ended(int rank) const { return peers_[static_cast<std::size_t>(rank)].ended; }
  // Returns the error for operations that wait for a rank that has ended.
  ChannelError peer_ended(int rank);

  shm::NodeLink* node() { return node_.get(); }
  Network* network() { return network_.get(); }
  Accounts accounts() const;
  const PeerAccounts& accounts(int rank) const {
    return peers_[static_cast<std::size_t>(rank)].accounts;
  }

 private:
  // A message or a move that waits for room.
  struct Outgoing {
    Header header;
    std::array<std::byte, sizeof(Cts)> body{};
    std::uint8_t body_length = 0;
    std::shared_ptr<const std::vector<std::byte>> longer;  // instead of body
    Operation* operation = nullptr;                        // its bytes follow, or are moved
    Act act = Act::complete;                               // write, read: of its transfer (`step`)
    Step step;
    std::size_t given = 0;  // bytes sent, of a message in parts
  };
  // A message that comes in parts. Each rank of the node sends one of these at a time.
  struct Stream {
    Envelope envelope;
    std::uint64_t came = 0;             // bytes
    Operation* receive = nullptr;       // that it goes to; null: it waits in
    UnexpectedMessage* kept = nullptr;  // `kept`; both null: not wanted
  };
  struct Peer {
    std::int32_t local = -1;  // its number on this node; -1: on another
    bool ended = false;
    std::string why;                // why it is lost, if it has not ended
    bool waits = false;             // it is in busy_
    std::deque<Outgoing> outgoing;  // messages, in their order
    std::deque<Outgoing> answers;   // what may overtake those
    PeerAccounts accounts;
    Stream stream;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  // Counts a message to the rank, of so many bytes.
  void count_sent(int rank, std::size_t bytes);
  // These start an operation in Phase::waiting. They may complete it.
  void begin_send(Operation& operation);
  void begin_receive(Operation& operation);
  void send_to_self(Operation& operation);
  // Returns the most bytes that may be sent to the operation's peer without an offer.
  std::size_t eager_limit(const Operation& operation) const;
  // Gives the message, or the move, to the node or the network, or queues it until there is room.
  void put(int rank, Outgoing& outgoing);
  // These return false if there is no room now: the caller keeps the message and tries again after
  // poll(). Pieces and parts that were sent stay sent. If a buffer is unmapped, the operation fails
  // and the result is true.
  bool give(int rank, Outgoing& outgoing);
  bool give_message(int rank, const Header& header, std::span<const std::byte> payload);
  bool give_pieces(int rank, Outgoing& outgoing);
  bool give_parts(int rank, Outgoing& outgoing);
  // Tries what waits for room, and returns true if something was sent. The second form is for one
  // queue: it sets `some` if something was sent, and returns true if the queue is empty.
  bool send_blocked();
  bool send_blocked(int rank, std::deque<Outgoing>& outgoing, bool& some);
  // Sends a message without bytes of the program. `number` is the addressee's number of the
  // transfer. `of` gives context and tag, if the kind needs them.
  template <class Body>
  void say(int rank, Kind kind, std::uint32_t number, const Body& body,
           const Operation* of = nullptr);
  // Tells the sender of a synchronous message, which may be this rank, that it was matched, or why
  // it was not.
  void answer_synchronous(int rank, std::uint32_t number, Outcome told = Outcome::none);
  // Returns the error of a send that its receiver did not receive before it closed its channel.
  ChannelError not_received(int rank) const;

  // messenger_transfers.cpp: messages that are not sent at once. rts() offers the message to its
  // receiver.
  void rts(Operation& operation);
  // An offer has met its receive. `theirs` is the sender's number of the transfer.
  void accept(Operation& operation, const Envelope& envelope, const Rts& rts, std::uint32_t theirs);
  // These carry out the steps of the transfer (comm-channel/core/protocol/rendezvous.h), in order.
  // The operation may be complete afterwards. The functions for one step follow.
  void carry_send(Operation& operation, const Steps& steps);
  void carry_receive(Operation& operation, const Steps& steps);
  void copy(Operation& operation, const Step& step);
  void move(Operation& operation, const Step& step);
  // Begins an RDMA write or read. Returns false if the network cannot do so now.
  bool start_move(int rank, Outgoing& outgoing);
  void say_ready(Operation& operation, const Step& step);
  void end_send(Operation& operation, const Step& step);
  void end_receive(Operation& operation, const Step& step);
  // Messages about transfers have come: CTS, FIN and a piece. Invalid and late ones are ignored.
  void take_ready(int rank, const Header& header, std::span<const std::byte> payload);
  void take_done(int rank, const Header& header, std::span<const std::byte> payload);
  void take_piece(int rank, const Header& header, std::span<const std::byte> payload);
  // Returns the operation with this number (of this side), or null if it is not one with that rank.
  Operation* numbered(std::uint32_t number, int rank);
  // Gives the operation a number, or returns 0 if there are too many.
  std::uint32_t number(Operation& operation);
  void forget_number(Operation& operation);
  // The peer of a numbered operation has ended.
  void end_transfer(Operation& operation);
  // Returns the code for the user of a transfer with the rank that failed.
  Code code_of(Outcome outcome, int rank) const;

  // messenger_stream.cpp: messages in parts. Each rank of the node sends one such message at a
  // time. begin_stream() takes the first part of a message, and take_part() every part.
  void begin_stream(int rank, const Header& header, std::span<const std::byte> part);
  void take_part(int rank, std::span<const std::byte> part);
  // A receive has got a message, and the last parts of it have not come yet.
  void receive_stream(Operation& operation, UnexpectedMessage& message);
  // The message is not wanted: its other parts are ignored.
  void drop_stream(const UnexpectedMessage& message);
  // The rank has ended: the receive that waits for the rest of its message fails.
  void end_stream(int rank);

  // messenger_offload.cpp: what the offloader asks for. The contract is in offloader.h
  // (OffloadUser).
  void say(int rank, const ControlMessage& saying, const LaneEnd* end) override;
  void offloaded(Operation& send) override;
  void came(Operation& receive, const Envelope& envelope, const std::byte* own) override;
  void matched(Operation& receive, Unexpected& message) override;
  void cancelled(Operation& receive) override;
  void refused(Operation& operation, int rank, const Error& why) override;
  void peer_gone(Operation& operation, int rank) override;
  void unreachable(int rank, const std::string& why) override;
  // A message about an offloaded channel has come.
  void agreement_arrived(int rank, const Header& header, std::span<const std::byte> payload);

  // messenger_ends.cpp: ends of other ranks, and of this process. ended_elsewhere() calls ended()
  // when no message of the rank is on its way any more.
  void ended_elsewhere(int rank);
  // Returns some ranks of other nodes that are awaited, and to which no connection shows their end.
  std::vector<int> awaited_unconnected();
  // fail_receives() completes the receives that Matcher has taken and linked, of which `first` is
  // the first; null: none.
  void fail_receives_of(int rank);
  void fail_receives(Posted* first, const ChannelError& error);
  // The contract of lost(), arrived() and moved() is in network.h (NetworkUser).
  void lost(int rank, const std::string& why) override;

  void arrived(int rank, const Header& header, std::span<const std::byte> payload) override;
  void moved(Operation& operation, Outcome outcome) override;
  // Keeps a message for which no receive is waiting: an offer (`rts`), or its bytes. `after` is
  // that of Unexpected.
  void keep(const Envelope& envelope, const Header& header, const Rts* rts,
            std::span<const std::byte> bytes, std::uint64_t after = 0);
  // Returns a message that is not in the matcher yet, with memory for `room` bytes.
  UnexpectedMessage& unexpected_for(const Envelope& envelope, std::size_t room);
  // Counts a message that belongs to no channel. Returns how many of the rank's came before it.
  std::uint64_t came_outside(int rank) { return offloader_ ? offloader_->came_outside(rank) : 0; }
  // Copies the message into the receive, as far as its buffer goes, and completes the receive.
  void fill(Operation& operation, const Envelope& envelope, std::span<const std::byte> bytes);
  // Copies many bytes if one of the buffers may be unmapped. Returns false if one is.
  bool fill_guarded(Operation& operation, const Envelope& envelope,
                    std::span<const std::byte> bytes);
  // Completes a receive after its bytes are in the buffer: with an error if the message was longer.
  void received(Operation& operation, const Envelope& envelope, std::uint64_t bytes);
  void truncated(Operation& operation, const Envelope& envelope);
  // Gives back a message that the matcher does not hold.
  void recycle(UnexpectedMessage& message);
  // Drops the kept messages of a pattern, or of contexts.
  void drop_all(const Pattern& pattern, Outcome told = Outcome::none);
  void drop_all(const ContextSet::Run& contexts);
  // Drops all kept messages because the channel closes; their senders are told so.
  void refuse_messages();
  // Completes the operation; its user sees that at the next look. An empty error is a success.
  void complete(Operation& operation, ChannelError error = {});
  static ChannelError error_of(Code code, int rank, std::string words);
  static ChannelError error_of_closing();
  static ChannelError error_of_numbers(int rank);

  const World& world_;
  const Options& options_;
  std::unique_ptr<shm::NodeLink> node_;
  std::unique_ptr<Network> network_;
  std::vector<std::int32_t> ranks_here_;  // by their numbers on this node
  std::vector<Peer> peers_;
  Matcher matcher_;
  std::unique_ptr<Offloader> offloader_;  // null: no other nodes, or turned off
  std::vector<int> ended_;
  int probed_ = -1;             // the last one probed for in vain
  std::size_t asked_last_ = 0;  // the last rank looked at for `left`
  Pool<Operation> operations_;
  Pool<UnexpectedMessage> kept_;
  std::vector<int> busy_;                  // ranks with something outgoing
  RequestTable<Operation> request_table_;  // those with a number on the wire
  std::uint64_t longest_offered_ = 0;      // to this node, since none was pending
  std::vector<std::byte> piece_;
  GuardedCopy guarded_copy_;
  std::uint64_t unwanted_looks_ = 0;
  bool closed_ = false;
};

}  // namespace scela::channel
