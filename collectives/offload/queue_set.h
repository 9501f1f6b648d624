// The queues of one communicator on an adapter that executes tasks (docs/collectives.md, The
// engine): a management queue, a queue pair to the rank itself, and three to each peer.
//
//   out    its send queue holds, for each message, WAIT for the peer's announcement, then SEND
//   in     its receive queue has the buffers of messages
//   tell   its send queue holds announcements, RDMA writes with immediate of no bytes; its receive
//          queue has receives of no bytes, for the peer's
//
// What is sent to a dead peer fails, and what else stands on that queue pair is flushed:
// completions too, which are counted. Nothing is sent by `in`, so that no receive is ever taken for
// a message.
//
// What is posted is enabled, waited for and computed by the management queue, one task for each of
// an OffloadPlan. A message that finds no room on its queue waits beside it (depths.h), while what
// enables it stands on the management queue already. Not for two threads at once.
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

// A device of this process's own, and what belongs to all its queue sets.
struct Adapter {
  static Result<std::unique_ptr<Adapter>> open();
  // Whether there is still somebody who executes what is posted.
  bool works() const;
  const channel::verbs::Port& port() const { return device.capability.ports.front(); }
  // Whether completions of tasks raise events.
  bool has_events() const { return device.capability.executor == channel::verbs::Executor::engine; }

  channel::verbs::Device device;
  channel::verbs::Symbols task_symbols;  // with what changes queue pairs that take tasks
  channel::verbs::Pd pd;
  channel::verbs::CompChannel events;
  std::unique_ptr<channel::verbs::Registrations> registrations;
  QueueDepths depths;  // of queue sets that are made from now on
};

// What the other end of a peer's queue pairs must know.
struct QueueEnd {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t out = 0, in = 0, tell = 0, first_packet = 0;
  std::uint16_t lid = 0;
  std::uint8_t mtu = 0;
};

// Registered memory.
struct Piece {
  std::byte* address = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0, rkey = 0;
  std::uint32_t mark = 0;  // of a message: of which operation it is, alike at both ends
};

class QueueSet {
 public:
  // What has gone wrong with a peer.
  struct Trouble {
    int peer = -1;
    bool flushed = false;   // it may be the consequence of another
    bool mismatch = false;  // the peer's message had another length, or is of another operation
    std::string words;
  };

  static Result<std::unique_ptr<QueueSet>> make(Adapter& adapter);

  Result<void> add(int rank);
  QueueEnd end_of(int rank) const;
  Result<void> connect(int rank, const QueueEnd& other);

  // Room for the requests of a task. Where there is none, drain() may make some. Behind messages
  // that wait for room there is always some.
  bool has_room(const OffloadTask& task, int rank);
  // Whether a task that finds no room must be posted later, and all behind it. A message need not.
  bool is_full_for(const OffloadTask& task) const {
    return tasks_ - over_ >= depths_.tasks ||
           (task.kind == OffloadTask::Kind::copy && copying_ >= depths_.copies);
  }
  // The task's number, counted from 1; the adapter does it once flush() was called. Of a signal,
  // over() says it when the list has come there.
  Result<std::uint64_t> post(const OffloadTask& task, int rank, const Piece& from, const Piece& to,
                             const std::optional<Calculation>& calculation);
  // Tasks go to the adapter together: few bells, and it begins when there is something to do.
  Result<void> flush();
  // The number of the last task that is known to be over.
  std::uint64_t over();
  // Messages that wait for room; refill() posts those that find some.
  std::size_t waiting() const { return waiting_; }
  Result<void> refill();

  // Looks at what has completed with a peer. trouble(): the first that there ever was.
  void drain(int rank);
  void drain_all();
  const std::optional<Trouble>& trouble() const { return trouble_; }
  // Whether something that was posted cannot complete without the peer, who has ended.
  bool needs(int rank) const;

  // Before sleeping at the adapter's events: over() once more.
  void arm();
  std::size_t queue_pairs() const { return 2 + 3 * peers_.size(); }

 private:
  struct Message {
    std::uint32_t bytes = 0;
    std::uint32_t mark = 0;
  };
  // Messages, as their receives were posted.
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
  struct Peer {
    explicit Peer(std::uint32_t depth) : expected(depth) {}
    channel::verbs::Cq sent, came, told;
    channel::verbs::Qp out, in, tell;
    std::uint32_t first_packet = 0;
    std::uint32_t telling = 0;           // announcements under way
    std::uint64_t posted = 0, gone = 0;  // sends
    std::uint64_t announced = 0;         // by the peer
    Expected expected;
    Beside<Piece> sends, receives;  // that wait for room
  };

  explicit QueueSet(Adapter& adapter)
      : adapter_(adapter), depths_(adapter.depths), next_said_(depths_.says()) {}
  Result<void> make_own();
  // What stands next on the list often has to do with the same one.
  Peer& peer_of(int rank) {
    if (rank != last_.first || last_.second == nullptr) last_ = {rank, &peers_.at(rank)};
    return *last_.second;
  }
  bool has_room_to_send(const Peer& peer) const {
    return peer.posted - peer.gone < depths_.messages;
  }
  bool has_room_to_receive(const Peer& peer) const {
    return peer.expected.size() < depths_.messages && peer.telling < depths_.messages &&
           telling_ < depths_.announcements;
  }
  Result<void> announce(Peer& peer, const Piece& to);
  Result<void> post_receive(Peer& peer, const Piece& to);
  Result<void> send(Peer& peer, const Piece& from);
  Result<void> post_send(Peer& peer, const Piece& from);
  Result<void> copy(const Piece& from, const Piece& to);
  Result<void> await_announcement(const Peer& peer);
  Result<void> manage(const scela_task& made, bool tells, std::span<const ibv_sge> pieces = {});
  Result<void> failed(const char* what, int error) const;
  void sent(int rank, Peer& peer, const ibv_wc& wc);
  void came(int rank, Peer& peer, const ibv_wc& wc);
  void told();
  void complain(int peer, const ibv_wc& wc, const char* what);
  void complain(Trouble trouble);

  Adapter& adapter_;
  const QueueDepths depths_;
  channel::verbs::Cq done_;    // of tasks
  channel::verbs::Cq copied_;  // of writes to the rank itself
  channel::verbs::Cq aside_;   // of announcements, for room
  channel::verbs::Qp self_;
  std::optional<channel::verbs::ManagementQueue> manager_;
  std::map<int, Peer> peers_;
  std::pair<int, Peer*> last_{-1, nullptr};  // that was asked for
  static constexpr std::size_t kBatch = 64;
  std::array<scela_task, kBatch> batch_{};
  std::array<std::array<ibv_sge, 3>, kBatch> pieces_{};  // of calculations
  std::size_t batched_ = 0;
  std::uint32_t copying_ = 0;
  std::uint32_t telling_ = 0;  // announcements under way, to all peers
  std::size_t waiting_ = 0;
  std::uint64_t tasks_ = 0, over_ = 0;
  std::uint64_t next_said_;  // the next task that says how far the queue is
  std::optional<Trouble> trouble_;
};

}  // namespace scela::collectives
