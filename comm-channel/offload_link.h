// Queue pairs of offloaded channels (docs/channel.md, Offloaded channels): each carries the
// messages of one channel, one way, by what adapters do while programs compute.
//
//   receiving end   a receive of the buffer, and an RDMA write with immediate of no bytes
//   sending end     WAIT for the completion of such a write, and the send, posted at once
//
// So the k-th send goes into the k-th buffer, as soon as both are there. Whoever posts must know
// that no more are posted than kMostParked ahead of what has come: then no write meets an end
// without a receive, and no message one without a buffer.
//
// Not for two threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "comm-channel/core/wire.h"
#include "comm-channel/operation.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Memory of the channel's own, for a message that nobody receives yet.
struct OwnMemory {
  std::unique_ptr<std::byte[]> bytes;
  verbs::Mr region;  // goes before the memory
};

class OffloadLink {
 public:
  using LaneId = std::uint32_t;  // one end of a queue pair; never 0
  enum class Side : unsigned char { sending, receiving };

  // What the queue pair may still write to.
  struct Buffer {
    std::span<std::byte> bytes;
    std::variant<std::monostate, verbs::Registration, std::shared_ptr<OwnMemory>> memory;
  };
  class User {
   public:
    virtual void lane_sent(LaneId lane, Operation& operation) = 0;
    virtual void lane_came(LaneId lane, std::uint64_t bytes) = 0;
    // Nothing moves in it any more.
    virtual void lane_broken(LaneId lane, const std::string& why) = 0;

   protected:
    ~User() = default;
  };

  // `most`: queue pairs of each side. What it is made of outlives it, but the events.
  OffloadLink(const verbs::Device& device, const verbs::Pd& pd, const verbs::CompChannel& events,
              std::uint32_t most);
  OffloadLink(const OffloadLink&) = delete;
  OffloadLink& operator=(const OffloadLink&) = delete;
  ~OffloadLink();

  // Whether somebody executes tasks for this device. Receiving needs none.
  bool can_send() const { return device_.capability.tasks != nullptr; }
  // Bytes of one message: it goes by one request.
  std::uint64_t longest_message() const { return verbs::longest_message(device_.capability.ports); }
  Result<LaneId> make(Side side);
  LaneEnd end_of(LaneId id) const;
  Result<void> connect(LaneId id, const LaneEnd& other);

  // The bytes, registered as operation.memory, once the other end has a buffer for them. On error
  // lane_broken() follows.
  void send(LaneId id, Operation& operation);
  // Whether the other end has said that it has a buffer for the next send.
  bool awaited(LaneId id);
  // The next message that comes goes there. On error lane_broken() follows.
  void arm(LaneId id, Buffer buffer);
  Result<std::shared_ptr<OwnMemory>> own_memory(std::size_t bytes) const;

  // All that was agreed to go by it has gone, or come. It stays a while, for an adapter that has
  // not heard that what it sent has come.
  void retire(LaneId id);
  // At once: nothing touches what was posted any more. The operations that had not gone.
  std::vector<Operation*> remove(LaneId id);

  unsigned poll(User& user);
  // Before sleeping at the events. must_look(): who executes tasks here raises none.
  bool arm_events();  // false: they cannot be
  bool must_look() const;

  std::size_t queue_pairs() const { return lanes_.size(); }

 private:
  struct Lane {
    Side side = Side::sending;
    bool retired = false, broken = false;
    verbs::Cq announcements;  // of the sending end: writes of no bytes that came
    verbs::Qp qp;
    std::uint32_t first_packet = 0;
    std::deque<Operation*> sends;  // under way, as they were posted
    std::uint64_t posted = 0;      // sends
    std::uint64_t announced = 0;   // buffers
    std::deque<Buffer> buffers;    // as they were posted
    std::uint32_t unannounced = 0, announcing = 0;
  };
  struct Broken {
    LaneId lane = 0;
    std::string why;
  };

  Result<void> make_queues(Side side);
  Result<void> make_sending(Lane& lane);
  Result<void> make_receiving(Lane& lane);
  Lane* find(LaneId id);
  int await_announcement(LaneId id, Lane& lane);
  void take_announcements(LaneId id, Lane& lane);
  void announce(LaneId id, Lane& lane);
  void broke(LaneId id, Lane& lane, const std::string& why);
  void came(const ibv_wc& wc, User& user);
  void sent(const ibv_wc& wc, User& user);
  const verbs::Port& port() const { return device_.capability.ports.front(); }

  const verbs::Device& device_;
  const verbs::Pd& pd_;
  const verbs::CompChannel& events_;
  const std::uint32_t most_;
  verbs::Symbols task_symbols_;  // with what changes queue pairs that take tasks
  verbs::Cq sent_cq_, came_cq_;  // of all lanes; made with the first of the side
  std::map<LaneId, std::unique_ptr<Lane>> lanes_;
  std::deque<LaneId> retired_;  // receiving ends, the oldest first
  std::vector<Broken> broken_;  // to be told
  LaneId last_ = 0;
  std::uint32_t sending_ = 0;  // operations under way
};

}  // namespace scela::channel
