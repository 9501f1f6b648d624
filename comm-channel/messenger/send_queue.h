// The messages and the moves of bytes that leave this process, in a queue for each rank. The queue
// sends at once what the transports have room for, and keeps the rest until there is room. The
// parts of the messenger send through it (comm-channel/messenger/messenger.h).
//
// Each rank has two queues. `ordered` has the messages that must arrive in their order. `answers`
// has what may overtake them: CTS, FIN, moves of bytes, and other answers.
//
// Only one thread at a time may call it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "comm-channel/core/protocol/rendezvous.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

// Sends the bytes of a transfer in pieces; RendezvousSender does.
class PieceSender {
 public:
  // `header` is that of each piece. Returns false if there is no room now: the caller keeps the
  // move and tries again. Pieces that were sent stay sent. The operation may be complete
  // afterwards.
  virtual bool send_pieces(Operation& send, const Header& header) = 0;

 protected:
  ~PieceSender() = default;
};

class SendQueue {
 public:
  // The references must outlive this object.
  SendQueue(const ChannelOptions& options, Peers& peers, Transports& transports,
            PieceSender& pieces);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // Sends a small message to a rank of this node if it has to wait for nothing. Returns false if
  // the message must become an operation.
  bool send_at_once(int to, int tag, std::span<const std::byte> bytes, Context context) {
    if (!peers_.is_local(to) || to == peers_.own_rank() || peers_.has_ended(to) ||
        bytes.size() > options_.eager.shm || waits(to))
      return false;
    return send_small(to, tag, bytes, context);
  }

  // These send something, or queue it until there is room. What has no operation is dropped if the
  // rank has ended.
  //
  // Sends the whole message of the operation, which completes when it is sent, unless it has a
  // number: that is then answered, since the message is synchronous.
  void enqueue_eager(Operation& send);
  // Sends a message without bytes of the program. `number` is the addressee's number of the
  // transfer. `of` gives context and tag, if the kind needs them.
  void enqueue_control(int rank, Kind kind, std::uint32_t number, std::span<const std::byte> body,
                       const Operation* of = nullptr);
  // Does so for a body that may be longer than that of a transfer.
  void enqueue_control(int rank, const Header& header, std::vector<std::byte> body);
  // Begins a step of the operation's transfer: write, read or pieces. These move the bytes of a
  // large message.
  void enqueue_move(Operation& operation, const Step& step);

  // Tries to send what waits for room. Returns true if something was sent.
  bool retry();
  // Returns whether something waits for room.
  bool blocked() const { return !busy_.empty(); }
  // Returns whether something waits for room that other ranks wait for. Messages about offloaded
  // channels do not count.
  bool owes() const;

  // Drops the pieces of the operation that wait for room.
  void drop_pieces(int rank, const Operation& send);
  // Drops messages about offloaded channels, except for those that say what has gone by one.
  void drop_agreements();
  // The operations of messages and moves that were not begun.
  struct Unsent {
    std::vector<Operation*> sends;  // those that nothing but sending would have completed
    std::vector<Operation*> moves;  // a write or a read
  };
  // Removes all that waits for room to the rank, since it has ended.
  Unsent remove(int rank);

 private:
  struct Entry {
    Header header;
    std::array<std::byte, sizeof(Cts)> body{};
    std::uint8_t body_length = 0;
    std::shared_ptr<const std::vector<std::byte>> longer;  // instead of body
    Operation* operation = nullptr;                        // its bytes follow, or are moved
    Act act = Act::complete;                               // write, read, pieces: of `step`
    Step step;
    std::size_t sent = 0;  // bytes, of a message in fragments
  };
  struct Queues {
    bool waits = false;  // the rank is in busy_
    std::deque<Entry> ordered;
    std::deque<Entry> answers;
  };

  Queues& queues(int rank) { return queues_[static_cast<std::size_t>(rank)]; }
  bool waits(int rank) const {
    return !busy_.empty() && queues_[static_cast<std::size_t>(rank)].waits;
  }
  bool send_small(int to, int tag, std::span<const std::byte> bytes, Context context);
  // Sends the entry at once if its queue is empty and there is room, otherwise appends it. Messages
  // that have an order are in the queue `ordered`, the others in `answers`. An entry without an
  // operation is dropped if the rank has ended.
  void enqueue(int rank, Entry& entry);
  // Queues the entry without trying to send it.
  void append(int rank, std::deque<Entry>& queue, const Entry& entry);
  // Notes that the rank is busy if its queue is not empty.
  void note_waiting(int rank, const std::deque<Entry>& queue);
  // These return false if there is no room now. Fragments that were sent stay sent.
  bool try_send(int rank, Entry& entry);
  bool send_whole(Operation& send, const Header& header);
  bool send_fragments(int rank, Entry& entry);
  bool start_move(int rank, Entry& entry);
  // Sends what there is room for. Sets `some` if something was sent, and returns true if the queue
  // is empty.
  bool drain(int rank, std::deque<Entry>& queue, bool& some);

  const ChannelOptions& options_;
  Peers& peers_;
  Transports& transports_;
  PieceSender& pieces_;
  std::vector<Queues> queues_;  // by rank
  std::vector<int> busy_;       // ranks with something queued
};

}  // namespace scela::channel
