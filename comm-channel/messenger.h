// Messages of one process: what sends, receives and arrivals do to each other. Moves what can be
// moved at once and never waits; channel.cpp waits.
//
// Not for two threads at once.
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
#include "comm-channel/core/matching.h"
#include "comm-channel/core/numbers.h"
#include "comm-channel/core/rendezvous.h"
#include "comm-channel/core/wire.h"
#include "comm-channel/guarded_copy.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/network.h"
#include "comm-channel/offloader.h"
#include "comm-channel/operation.h"
#include "comm-channel/pool.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

class Messenger final : private NetworkUser, private OffloadUser {
 public:
  // `node`: none where this process is alone on its node. `network`: none where there are no other
  // nodes.
  Messenger(const World& world, const Options& options, std::unique_ptr<shm::NodeLink> node,
            std::unique_ptr<Network> network);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  ~Messenger();

  // Not begun. Given back with release().
  Operation& send_operation(int to, int tag, std::span<const std::byte> bytes, Context context);
  Operation& receive_operation(int source, int tag, std::span<std::byte> bytes, Context context);
  void begin(Operation& operation);
  // Of a complete one, or of one that was not begun.
  void release(Operation& operation);
  // False: a send, or it was matched already, or that is not known yet: then it ends with its
  // message, or as cancelled.
  bool cancel(Operation& operation);

  // A small message to a rank of this node, with nothing to wait for. False: it must be an
  // operation.
  bool send_at_once(int to, int tag, std::span<const std::byte> bytes, Context context);

  // None: nothing fits yet.
  Unexpected* probe(const Pattern& pattern);
  Unexpected* take(const Pattern& pattern);
  // Of what was taken: into the receive, which completes when the bytes are there.
  void receive(Operation& operation, Unexpected& unexpected);
  // Of what was taken, and will not be received. What its sender is told: that it has arrived, or
  // why it has not.
  void drop(Unexpected& unexpected, Outcome told = Outcome::none);
  // Nothing is received in these contexts any more: what has come is dropped, and what poll()
  // finds. accept(): what comes is kept again.
  void discard(Context first, Context count = 1);
  void accept(Context first, Context count);
  // How many messages were looked at for that.
  std::uint64_t unwanted_looks() const { return unwanted_looks_; }

  // How many messages came, and one more if something went that had waited for room. 0: nothing
  // has changed.
  unsigned poll();
  // Whether something waits to be sent, for room.
  bool blocked() const { return !busy_.empty(); }
  // The same of what others wait for: not only words about offloaded channels.
  bool owes() const;
  // Whether sends wait for receivers.
  bool unanswered() const { return !numbers_.empty(); }
  // Those of the node that have ended since: what waits for them fails.
  void notice_ends();
  // Those of other nodes of which somebody says so.
  template <class Failed>
  void notice_failures(const Failed& failed) {
    for (int rank = 0; rank < world_.size; ++rank)
      if (peer(rank).local < 0 && rank != world_.rank && !has_ended(rank) && failed(rank)) {
        ended_elsewhere(rank);
      }
  }
  // Those of other nodes that a receive or a probe waits for, and that no connection tells of: of
  // these it is asked, of so many at a time, whether they have ended well. False: of none.
  template <class Left>
  bool notice_leavers(const Left& left) {
    const std::vector<int> awaited = awaited_unconnected();
    for (const int rank : awaited)
      if (left(rank)) ended_elsewhere(rank);
    return !awaited.empty();
  }
  // The rank was probed for, and there is no message of it.
  void probed_in_vain(int rank) { probed_ = rank; }
  void ended(int rank, std::string why = {});
  // Where all others have ended: receives from any source fail, too. For who has nothing to move,
  // and waits.
  void notice_solitude();
  bool nobody_left() const {
    return world_.size > 1 && ended_.size() + 1 == static_cast<std::size_t>(world_.size);
  }
  static ChannelError error_of_solitude();
  // Before the process ends: what others need not wait for.
  void finish();
  // Ends the receives of requests that are still open, those whose messages have not come, and
  // tells the senders of messages that have come that nothing receives them. Whether nothing
  // touches a buffer of the program's any more.
  bool end_requests();
  // Then: what begins after it has failed. How many requests there are yet.
  std::size_t close();
  bool has_ended(int rank) const { return peers_[static_cast<std::size_t>(rank)].ended; }
  // Of one that has: what is told to who waits for it.
  ChannelError peer_ended(int rank);

  shm::NodeLink* node() { return node_.get(); }
  Network* network() { return network_.get(); }
  Accounts accounts() const;
  const PeerAccounts& accounts(int rank) const {
    return peers_[static_cast<std::size_t>(rank)].accounts;
  }

 private:
  // What waits for room.
  struct Outgoing {
    Header header;
    std::array<std::byte, sizeof(Ready)> body{};
    std::uint8_t body_length = 0;
    std::shared_ptr<const std::vector<std::byte>> longer;  // instead of body
    Operation* operation = nullptr;                        // whose bytes follow, or move
    Act act = Act::complete;  // write, read: of its transfer, by `step`; pieces
    Step step;
    std::size_t given = 0;  // of a message in parts: bytes that have gone
  };
  // A message that comes in parts: of each rank of the node one at a time.
  struct Stream {
    Envelope envelope;
    std::uint64_t came = 0;        // bytes
    Operation* receive = nullptr;  // that it goes to; none: it has to wait for one,
    Kept* kept = nullptr;          // here; neither: nobody wants it
  };
  struct Peer {
    std::int32_t local = -1;  // its number on this node; -1: on another
    bool ended = false;
    std::string why;                // it is lost, if it has not ended
    bool waits = false;             // it is in busy_
    std::deque<Outgoing> outgoing;  // messages, in their order
    std::deque<Outgoing> answers;   // and what need not wait for those
    PeerAccounts accounts;
    Stream stream;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void count_sent(int rank, std::size_t bytes);
  void begin_send(Operation& operation);
  void begin_receive(Operation& operation);
  void send_to_self(Operation& operation);
  std::size_t eager_limit(const Operation& operation) const;
  void put(int rank, Outgoing& outgoing);
  bool give(int rank, Outgoing& outgoing);
  bool give_message(int rank, const Header& header, std::span<const std::byte> payload);
  bool give_pieces(int rank, Outgoing& outgoing);
  bool give_parts(int rank, Outgoing& outgoing);
  bool send_blocked();
  bool send_blocked(int rank, std::deque<Outgoing>& outgoing, bool& some);
  template <class Body>
  void say(int rank, Kind kind, std::uint32_t number, const Body& body,
           const Operation* of = nullptr);
  void answer_synchronous(int rank, std::uint32_t number, Outcome told = Outcome::none);
  ChannelError not_received(int rank) const;

  // messenger_transfers.cpp: messages that are not sent at once
  void offer(Operation& operation);
  void accept(Operation& operation, const Envelope& envelope, const Offer& offer,
              std::uint32_t theirs);
  void carry_send(Operation& operation, const Steps& steps);
  void carry_receive(Operation& operation, const Steps& steps);
  void copy(Operation& operation, const Step& step);
  void move(Operation& operation, const Step& step);
  bool start_move(int rank, Outgoing& outgoing);
  void say_ready(Operation& operation, const Step& step);
  void end_send(Operation& operation, const Step& step);
  void end_receive(Operation& operation, const Step& step);
  void take_ready(int rank, const Header& header, std::span<const std::byte> payload);
  void take_done(int rank, const Header& header, std::span<const std::byte> payload);
  void take_piece(int rank, const Header& header, std::span<const std::byte> payload);
  Operation* numbered(std::uint32_t number, int rank);
  std::uint32_t number(Operation& operation);
  void forget_number(Operation& operation);
  void end_transfer(Operation& operation);
  Code code_of(Outcome outcome, int rank) const;

  // messenger_stream.cpp: messages in parts
  void begin_stream(int rank, const Header& header, std::span<const std::byte> part);
  void take_part(int rank, std::span<const std::byte> part);
  void receive_stream(Operation& operation, Kept& message);
  void drop_stream(const Kept& message);
  void end_stream(int rank);

  // messenger_offload.cpp: what the offloader wants done
  void say(int rank, const Saying& saying, const LaneEnd* end) override;
  void offloaded(Operation& send) override;
  void came(Operation& receive, const Envelope& envelope, const std::byte* own) override;
  void matched(Operation& receive, Unexpected& message) override;
  void cancelled(Operation& receive) override;
  void refused(Operation& operation, int rank, const Error& why) override;
  void peer_gone(Operation& operation, int rank) override;
  void unreachable(int rank, const std::string& why) override;
  void agreement_arrived(int rank, const Header& header, std::span<const std::byte> payload);

  // messenger_ends.cpp
  void ended_elsewhere(int rank);
  std::vector<int> awaited_unconnected();
  void fail_receives_of(int rank);
  void fail_receives(Posted* first, const ChannelError& error);
  void lost(int rank, const std::string& why) override;

  void arrived(int rank, const Header& header, std::span<const std::byte> payload) override;
  void moved(Operation& operation, Outcome outcome) override;
  void keep(const Envelope& envelope, const Header& header, const Offer* offer,
            std::span<const std::byte> bytes, std::uint64_t after = 0);
  Kept& kept_for(const Envelope& envelope, std::size_t room);
  std::uint64_t came_outside(int rank) { return offloader_ ? offloader_->came_outside(rank) : 0; }
  void fill(Operation& operation, const Envelope& envelope, std::span<const std::byte> bytes);
  // The same of many bytes, where one of the buffers may be gone. False: one is.
  bool fill_guarded(Operation& operation, const Envelope& envelope,
                    std::span<const std::byte> bytes);
  void received(Operation& operation, const Envelope& envelope, std::uint64_t bytes);
  void truncated(Operation& operation, const Envelope& envelope);
  void recycle(Kept& message);
  void drop_all(const Pattern& pattern, Outcome told = Outcome::none);
  void drop_all(const ContextSet::Run& contexts);
  void refuse_messages();
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
  std::unique_ptr<Offloader> offloader_;  // none: there are no other nodes, or it is turned off
  std::vector<int> ended_;
  int probed_ = -1;             // the last that was probed for in vain
  std::size_t asked_last_ = 0;  // of awaited ranks, about which it was asked
  Pool<Operation> operations_;
  Pool<Kept> kept_;
  std::vector<int> busy_;              // ranks with something outgoing
  Numbers<Operation> numbers_;         // those that the other side speaks of
  std::uint64_t longest_offered_ = 0;  // to ranks of the node, since nothing was under way
  std::vector<std::byte> piece_;
  GuardedCopy guarded_copy_;
  std::uint64_t unwanted_looks_ = 0;
  bool closed_ = false;
};

}  // namespace scela::channel
