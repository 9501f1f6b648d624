// A QueueSet has the queues of one communicator on an adapter that executes tasks
// (docs/design/collectives.md, The engine). They are a management queue, a queue pair to the rank
// itself, and three queue pairs to each peer. Offload groups use it. Two threads must not use it at
// once.
//
//   out    its send queue holds, for each message, WAIT for the peer's announcement, then SEND
//   in     its receive queue has the buffers of messages
//   tell   its send queue holds announcements, RDMA writes with immediate of no bytes; its receive
//          queue has receives of no bytes, for the peer's
//
// An announcement says that the buffer of the next message is posted, so that the peer may send it.
// A request on these queues is held: it begins when a task of the management queue enables it
// (SEND_ENABLE). Both ends of a message have the operation's mark, a number by which a message of
// another operation is recognised.
//
// A send to a dead peer fails, and the other requests on that queue pair are flushed. Those are
// completions too, and are counted. Nothing is sent by `in`, so that a receive is never mistaken
// for a message.
//
// The management queue enables, waits for and computes what is posted, with one task for each of an
// OffloadPlan. If a message finds no room on its queue, it waits beside it
// (collectives/core/depths.h). The task that enables it is on the management queue already.
//
// Ranks are numbered as in the transport.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/depths.h"
#include "collectives/core/offload.h"
#include "collectives/executors/factory.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/result.h"

namespace scela::collectives {

// A device that this process has opened, with the objects that all its queue sets share.
struct Adapter {
  // Opens a device of this machine. Returns an error if there is none, or if no engine executes
  // tasks for it.
  static Result<std::unique_ptr<Adapter>> open();
  // Returns true if the engine that executes the tasks still answers. Asks the engine, and blocks
  // until then.
  bool works() const;
  // Returns the device's first port, which all queue pairs use.
  const channel::verbs::Port& port() const { return device.capability.ports.front(); }
  // Returns true if completions of tasks raise events of `events`. If not, a waiting caller must
  // poll.
  bool has_events() const { return device.capability.executor == channel::verbs::Executor::engine; }

  channel::verbs::Device device;
  channel::verbs::Symbols task_symbols;  // its modify_qp is for task queue pairs
  channel::verbs::Pd pd;                 // protection domain of all queue sets
  channel::verbs::CompChannel events;    // its descriptor does not block
  // Memory registrations, kept for later operations.
  std::unique_ptr<channel::verbs::Registrations> registrations;
  QueueDepths depths;  // for queue sets made from now on
};

// The attributes of a rank's queue pairs that its peer must know to connect to them. `out`, `in`
// and `tell` are numbers of queue pairs. `first_packet` is the number of the first packet that the
// rank sends. `mtu` is an ibv_mtu.
struct QueueEnd {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t out = 0, in = 0, tell = 0, first_packet = 0;
  std::uint16_t lid = 0;
  std::uint8_t mtu = 0;
};

// Contiguous bytes of registered memory, as an operand of a task. Without bytes, the address may be
// null.
struct Piece {
  std::byte* address = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0, rkey = 0;
  std::uint32_t mark = 0;  // the operation's, equal at both ends
};

class QueueSet {
 public:
  // A failure that completions have shown.
  struct PeerFailure {
    int peer = -1;          // rank; -1: this rank's own queues
    bool flushed = false;   // may follow from another failure
    bool mismatch = false;  // wrong length or operation
    // The text for an error.
    std::string words;
  };

  // Makes the queues that need no peer, with the depths adapter.depths. The adapter must outlive
  // the object.
  static Result<std::unique_ptr<QueueSet>> make(Adapter& adapter);

  // Makes the queue pairs to a peer: the first of three calls by which a peer is connected.
  Result<void> add(int rank);
  // Returns the attributes of these queue pairs, which the caller sends to the peer.
  QueueEnd end_of(int rank) const;
  // Connects these queue pairs to the peer's, by the attributes that the peer has sent.
  Result<void> connect(int rank, const QueueEnd& other);

  // Returns true if there is room for the requests of a task with this peer (-1: none). If there is
  // none, drain() may make some. A message that would wait beside its queue behind others counts as
  // having room.
  bool has_room(const OffloadTask& task, int rank);
  // Returns true if a task must be posted later, with all tasks behind it, because the management
  // queue or the queue of copies is full. A message without room need not be: post() lets it wait
  // beside its queue.
  bool is_full_for(const OffloadTask& task) const {
    return tasks_ - over_ >= depths_.tasks ||
           (task.kind == OffloadTask::Kind::copy && copying_ >= depths_.copies);
  }
  // Posts a task and returns its number, counted from 1. `rank` is the peer of a message or wait.
  // `from` and `to` are the memory of task.from and task.to. `calculation` is set for a reduce. The
  // adapter executes the task once flush() was called. is_full_for() must be false.
  Result<std::uint64_t> post(const OffloadTask& task, int rank, const Piece& from, const Piece& to,
                             const std::optional<Calculation>& calculation);
  // Passes all posted tasks to the adapter together, so that few doorbells are needed. post() does
  // so itself after every 64 tasks.
  Result<void> flush();
  // Reads the completions of tasks, and returns the number of the last task that is known to be
  // over. It reaches the number of a signal when the list has come to the signal.
  std::uint64_t over();
  // Returns how many messages wait for room beside their queues.
  std::size_t waiting() const { return waiting_; }
  // Posts those of the waiting messages that find room now. Returns an error of the verb that
  // failed.
  Result<void> refill();

  // Reads the completions of a peer's queues, and notes failures for trouble().
  void drain(int rank);
  // Does so for all peers, and for copies and announcements.
  void drain_all();
  // Returns the first failure that was found, or no value. A later one replaces it only if it is a
  // flush and the later one is not.
  const std::optional<PeerFailure>& trouble() const { return trouble_; }
  // Returns true if a request that was posted cannot complete without this peer, so that its end is
  // a fault. The caller knows that the peer has ended.
  bool needs(int rank) const;

  // Requests an event of adapter.events for the next completion of a task. The caller then calls
  // over() once more before it sleeps, since a completion may have come before.
  void arm();
  // Returns the number of queue pairs: two of the rank's own, and three for each peer.
  std::size_t queue_pairs() const { return 2 + 3 * peers_.size(); }

 private:
  // The length and the mark of a message that is expected.
  struct Message {
    std::uint32_t bytes = 0;
    std::uint32_t mark = 0;
  };
  // The expected messages, in the order in which their receives were posted.
  class Expected {
   public:
    explicit Expected(std::uint32_t depth) : messages_(std::bit_ceil(depth)) {}
    bool empty() const { return put_ == taken_; }
    std::uint64_t size() const { return put_ - taken_; }
    void push(Message message) { messages_[put_++ & (messages_.size() - 1)] = message; }
    Message pop() { return messages_[taken_++ & (messages_.size() - 1)]; }

   private:
    std::vector<Message> messages_;
    std::uint64_t put_ = 0, taken_ = 0;
  };
  // The queues to one peer, and the counts of what is under way.
  struct Peer {
    explicit Peer(std::uint32_t depth) : expected(depth) {}
    // The completions of `out`, of `in`, and of the peer's announcements.
    channel::verbs::Cq sent, came, told;
    channel::verbs::Qp out, in, tell;
    std::uint32_t first_packet = 0;
    std::uint32_t telling = 0;           // announcements to it under way
    std::uint64_t posted = 0, gone = 0;  // sends posted, sends completed
    std::uint64_t announced = 0;         // announcements of the peer that came
    Expected expected;
    Beside<Piece> sends, receives;  // these wait for room
  };

  explicit QueueSet(Adapter& adapter)
      : adapter_(adapter), depths_(adapter.depths), next_said_(depths_.says()) {}
  // Makes the management queue and the queue pair to the rank itself.
  Result<void> make_own();
  // Returns a peer. The last one is remembered, because the next task of a list often has the same
  // peer.
  Peer& peer_of(int rank) {
    if (rank != last_.first || last_.second == nullptr) last_ = {rank, &peers_.at(rank)};
    return *last_.second;
  }
  // These return false if the message must wait beside the queue.
  bool has_room_to_send(const Peer& peer) const {
    return peer.posted - peer.gone < depths_.messages;
  }
  bool has_room_to_receive(const Peer& peer) const {
    return peer.expected.size() < depths_.messages && peer.telling < depths_.messages &&
           telling_ < depths_.announcements;
  }
  // Posts the receive of a message and its announcement, or keeps them beside the queue if there is
  // no room. Posts the task that enables the announcement in both cases.
  Result<void> announce(Peer& peer, const Piece& to);
  // Posts a receive and its announcement, for which there must be room.
  Result<void> post_receive(Peer& peer, const Piece& to);
  // Posts a send, or keeps it beside the queue if there is no room. Posts the task that enables it
  // in both cases.
  Result<void> send(Peer& peer, const Piece& from);
  // Posts a send behind a WAIT for the peer's announcement. There must be room.
  Result<void> post_send(Peer& peer, const Piece& from);
  // Posts an RDMA write to the rank itself, and the task that enables it.
  Result<void> copy(const Piece& from, const Piece& to);
  // Posts a receive of no bytes, for one announcement of the peer.
  Result<void> await_announcement(const Peer& peer);
  // Adds a task to the batch, which it flushes when the batch is full. If `tells`, the task raises
  // a completion. `pieces` are the operands of a calculation: the result, the left and the right
  // one.
  Result<void> manage(const scela_task& made, bool tells, std::span<const ibv_sge> pieces = {});
  // Returns success if `error`, an errno, is 0; otherwise an error that says what was tried
  // (`what`).
  Result<void> failed(const char* what, int error) const;
  // Counts the completion of a send, and calls complain() if it is a failure.
  void sent(int rank, Peer& peer, const ibv_wc& wc);
  // Counts the completion of a receive, and compares its length and mark with those of the expected
  // message.
  void came(int rank, Peer& peer, const ibv_wc& wc);
  // Reads the completions of announcements to all peers.
  void told();
  // Record a failure in trouble_, unless an earlier one matters more. `peer` -1 stands for this
  // rank's own queues. `what` is the request that failed, for the error.
  void complain(int peer, const ibv_wc& wc, const char* what);
  void complain(PeerFailure trouble);

  Adapter& adapter_;
  const QueueDepths depths_;
  channel::verbs::Cq done_;    // completions of tasks
  channel::verbs::Cq copied_;  // of writes to the rank itself
  channel::verbs::Cq aside_;   // of announcements, to count room
  channel::verbs::Qp self_;
  std::optional<channel::verbs::ManagementQueue> manager_;
  std::map<int, Peer> peers_;
  std::pair<int, Peer*> last_{-1, nullptr};  // the peer used last
  static constexpr std::size_t kBatch = 64;
  std::array<scela_task, kBatch> batch_{};
  std::array<std::array<ibv_sge, 3>, kBatch> pieces_{};  // of calculations
  std::size_t batched_ = 0;
  std::uint32_t copying_ = 0;           // copies under way
  std::uint32_t telling_ = 0;           // announcements under way, to all peers
  std::size_t waiting_ = 0;             // messages that wait beside queues
  std::uint64_t tasks_ = 0, over_ = 0;  // numbers: last posted, last known over
  std::uint64_t next_said_;             // next task that raises a completion
  std::optional<PeerFailure> trouble_;
};

}  // namespace scela::collectives
