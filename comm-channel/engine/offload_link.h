// The queue pairs of offloaded channels (docs/design/channel.md, Offloaded channels). Each carries
// the messages of one channel in one direction; the adapters work while the programs compute. A
// *lane* is this process's end of such a queue pair. The offloader uses it.
//
//   receiving end   a receive of the buffer, and an RDMA write with immediate of no bytes
//   sending end     WAIT for the completion of such a write, and the send, posted at once
//
// So the k-th send goes into the k-th buffer as soon as both are there. The caller must ensure that
// at most kMaxParked are posted ahead of what has come. Then no write meets an end without a
// receive, and no message meets an end without a buffer.
//
// Only one thread at a time may call it.
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

#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Memory of the channel for a message that has no receive yet.
struct OwnMemory {
  std::unique_ptr<std::byte[]> bytes;
  verbs::Mr region;  // destroyed before the memory
};

class OffloadLink {
 public:
  using LaneId = std::uint32_t;  // one end of a queue pair; never 0
  enum class Side : unsigned char { sending, receiving };

  // Memory that the queue pair may still write to.
  struct Buffer {
    std::span<std::byte> bytes;
    std::variant<std::monostate, verbs::Registration, std::shared_ptr<OwnMemory>> memory;
  };
  class User {
   public:
    // The send is complete, and its buffer is free.
    virtual void lane_sent(LaneId lane, Operation& operation) = 0;
    // The next message of the lane is in the oldest buffer, which is valid until the function
    // returns.
    virtual void lane_came(LaneId lane, std::uint64_t bytes) = 0;
    // The lane is broken, and nothing moves in it any more.
    virtual void lane_broken(LaneId lane, const std::string& why) = 0;

   protected:
    ~User() = default;
  };

  // `most` is the number of queue pairs of each side. The device, the domain and the events must
  // outlive this object.
  OffloadLink(const verbs::Device& device, const verbs::Pd& pd, const verbs::CompChannel& events,
              std::uint32_t most);
  OffloadLink(const OffloadLink&) = delete;
  OffloadLink& operator=(const OffloadLink&) = delete;
  ~OffloadLink();

  // Returns whether the device, or a thread, executes tasks. Receiving needs no tasks.
  bool can_send() const { return device_.capability.tasks != nullptr; }
  // Returns the most bytes of one message, which is sent as one request.
  std::uint64_t longest_message() const { return verbs::longest_message(device_.capability.ports); }
  // Makes one end of a queue pair. The caller tells the other process its end_of(), and calls
  // connect() with the other's. Nothing may be sent or received before.
  Result<LaneId> make(Side side);
  LaneEnd end_of(LaneId id) const;
  // Connects the lane to the end of the other process.
  Result<void> connect(LaneId id, const LaneEnd& other);

  // Sends the bytes, which are registered as operation.memory, once the other end has a buffer for
  // them. If that fails, lane_broken() follows.
  void send(LaneId id, Operation& operation);
  // Returns whether the other end has announced a buffer for the next send.
  bool awaited(LaneId id);
  // Posts the buffer for the next message of a receiving lane, and announces it to the other end.
  // If that fails, lane_broken() follows.
  void arm(LaneId id, Buffer buffer);
  // Returns registered memory for a message of so many bytes.
  Result<std::shared_ptr<OwnMemory>> own_memory(std::size_t bytes) const;

  // Ends the use of a lane: all messages that were agreed on have been sent, or have come. The
  // queue pair stays for a while, since an adapter may not know yet that its message has arrived.
  void retire(LaneId id);
  // Removes the lane at once: nothing uses the posted buffers any more. Returns the operations that
  // were not sent.
  std::vector<Operation*> remove(LaneId id);

  // Takes completions, and reports them to the user. Returns how many it took, plus the number of
  // lanes that were reported as broken.
  unsigned poll(User& user);
  // arm_events() is called before sleeping at the events. must_look() returns whether tasks are
  // executed by a thread, which raises no events.
  bool arm_events();  // false: they cannot be armed
  bool must_look() const;

  std::size_t queue_pairs() const { return lanes_.size(); }

 private:
  struct Lane {
    Side side = Side::sending;
    bool retired = false, broken = false;
    verbs::Cq announcements;  // sending end: writes of no bytes
    verbs::Qp qp;
    std::uint32_t first_packet = 0;
    std::deque<Operation*> sends;                   // under way, in the order of posting
    std::uint64_t posted = 0;                       // sends
    std::uint64_t announced = 0;                    // buffers
    std::deque<Buffer> buffers;                     // in the order of posting
    std::uint32_t unannounced = 0, announcing = 0;  // buffers; writes under way
  };
  struct Broken {
    LaneId lane = 0;
    std::string why;
  };

  // Makes the completion queue of that side, if it is not there yet.
  Result<void> make_queues(Side side);
  Result<void> make_sending(Lane& lane);
  Result<void> make_receiving(Lane& lane);
  // Returns null if the lane does not exist any more.
  Lane* find(LaneId id);
  // Posts a receive for one announcement of the other end. Returns 0 or an errno value.
  int await_announcement(LaneId id, Lane& lane);
  // Counts the announcements that have come: each is a buffer at the other end.
  void take_announcements(LaneId id, Lane& lane);
  // Tells the sending end of armed buffers, as far as the queue has room for that.
  void announce(LaneId id, Lane& lane);
  // Marks the lane as broken. The user is told at the next poll, unless the lane is retired.
  void broke(LaneId id, Lane& lane, const std::string& why);
  // These handle a completion of the receiving or of the sending end.
  void came(const ibv_wc& wc, User& user);
  void sent(const ibv_wc& wc, User& user);
  const verbs::Port& port() const { return device_.capability.ports.front(); }

  const verbs::Device& device_;
  const verbs::Pd& pd_;
  const verbs::CompChannel& events_;
  const std::uint32_t max_;
  verbs::Symbols task_symbols_;  // with scela_modify_qp for task pairs
  verbs::Cq sent_cq_, came_cq_;  // of all lanes; made with the first
  std::map<LaneId, std::unique_ptr<Lane>> lanes_;
  std::deque<LaneId> retired_;  // receiving ends, the oldest first
  std::vector<Broken> broken_;  // not told yet
  LaneId last_ = 0;
  std::uint32_t sending_ = 0;  // operations under way
};

}  // namespace scela::channel
