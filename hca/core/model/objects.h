// The objects of the interpreter: protection domains, memory regions, queues and queue pairs, as
// verbs name them.
//
// They are plain values that refer to each other by number; the interpreter's one thread uses them.
// ObjectTables finds them; the parts in hca/core/interp have what they do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "hca/core/model/engine.h"
#include "hca/core/model/transfer.h"
#include "hca/core/wire/counted_bytes.h"
#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/layout.h"
#include "hca/core/wire/messages.h"
#include "hca/core/wire/table.h"

namespace scela::hca {

struct Pd {
  ProcessId owner = 0;
  std::uint32_t users = 0;  // regions, queues and queue pairs
};

// A memory region.
struct Mr {
  ProcessId owner = 0;
  std::uint32_t pd = 0;
  std::uint64_t address = 0;  // in the owner's memory
  std::uint64_t length = 0;   // bytes
  // The address by which requests name its first byte.
  std::uint64_t iova = 0;
  // Flags of namespace access (hca/core/wire/values.h).
  std::uint32_t access = 0;
};

// A completion channel.
struct Channel {
  ProcessId owner = 0;
  // The CQs that report to it.
  std::uint32_t users = 0;
};

struct Cq {
  std::uint32_t handle = 0;
  ProcessId owner = 0;
  // The channel that gets its events; 0: none.
  std::uint32_t channel = 0;
  // A value of the process, which its events carry.
  std::uint64_t cookie = 0;
  // The queue pairs and SRQs that report to it.
  std::uint32_t users = 0;
  CompletionRing* ring = nullptr;
  Region region;
  std::uint64_t entries = 0;  // a power of two
  // The number of completions since the CQ was made.
  std::uint64_t produced = 0;
  bool ignore_overrun = false;
  bool broken = false;  // it overflowed; no more completions
  // Queue pairs that wait for a completion of this queue.
  std::set<std::uint32_t> parked;
};

// The entries of a send or receive queue, as the engine sees them.
struct Ring {
  RequestRing* head = nullptr;
  std::byte* entries = nullptr;
  Region region;
  std::uint32_t slots = 0;   // a power of two
  std::uint32_t stride = 0;  // bytes
  std::uint32_t sges = 0;    // at most, in one request
  std::uint64_t next = 0;    // the entry to look at next
  bool managed = false;      // its requests wait to be enabled
  // If `managed`, entries with an index below this may be executed.
  std::uint64_t enabled = 0;

  // end() returns the end of the posted entries. A process may claim to have posted more entries
  // than fit; then it counts as many as fit. ready() returns the end of the entries that may be
  // executed.
  std::uint64_t end() const {
    const std::uint64_t posted = posted_to(*head);
    return posted - next > slots ? next + slots : posted;
  }
  std::uint64_t ready() const { return managed ? std::min(enabled, end()) : end(); }
  const std::byte* entry(std::uint64_t index) const {
    return entries + (index & (slots - 1)) * stride;
  }
};

// A receive request that a message is filling.
struct Receiving {
  std::uint64_t wr_id = 0;
  // Its index in the queue that it came from.
  std::uint64_t index = 0;
  ProcessId owner = 0;      // the process that owns its memory
  std::uint32_t queue = 0;  // the QP or SRQ that it came from
  std::uint32_t cq = 0;
  std::uint32_t pd = 0;
  // A number of its own for each time that a receive request is taken, or taken again.
  std::uint64_t taking = 0;
  std::uint32_t filler = 0;  // the queue pair with the filling step
  std::vector<Sge> sges;
};

struct Srq {
  std::uint32_t handle = 0;  // also its SRQ number
  ProcessId owner = 0;
  SrqType type = SrqType::basic;
  std::uint32_t pd = 0;
  std::uint32_t xrcd = 0;
  std::uint32_t cq = 0;
  // If fewer requests are left, the process gets an event, once.
  std::uint32_t limit = 0;  // 0: not armed
  std::uint32_t requests = 0;
  std::uint64_t cookie = 0;
  std::uint32_t users = 0;
  Ring ring;
  // Requests that a queue pair had begun to fill before it was destroyed or reset. The next
  // messages fill them.
  std::deque<Receiving> returned;
};

// An XRC domain. The device and the inode are those of the file that it belongs to.
struct Xrcd {
  std::uint32_t handle = 0;
  std::uint64_t file_device = 0;  // both 0: private to its opener
  std::uint64_t file_inode = 0;
  std::vector<ProcessId> openers;  // once for each opening
  bool has_opener(ProcessId process) const { return std::ranges::count(openers, process) != 0; }
};

// A range of a process's memory, in bytes.
struct Piece {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// A request that the engine has read once from a send queue.
struct Outgoing {
  SendRequest request;
  // Its index in the send queue.
  std::uint64_t index = 0;
  Moment began = 0;  // by the trace sink's clock
  std::vector<Sge> sges;
  // Inline data, or the payload of a datagram once it is gathered.
  std::vector<std::byte> data;
  // Its buffers in the owner's memory, looked up anew for each part that is sent.
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;
  // The bytes sent in this round.
  std::uint64_t sent = 0;
  // The bytes that the other node has reported as taken.
  std::uint64_t taken = 0;
  std::uint32_t psn = 0;
  // The old value of an atomic operation that was carried out, until that result is stored.
  std::optional<std::uint64_t> before;
  // For a datagram that is being sent: its remaining transmissions, and the members of its group
  // that have the present one.
  std::optional<int> times;
  std::set<std::uint32_t> served;
  // For a datagram that is late on purpose, the time at which it arrives; otherwise 0.
  Moment late_until = 0;
  // The request was answered or found wrong. It completes once all requests before it have.
  bool done = false;
  Status status = Status::success;
};

// A read of another node, while its data is being sent there.
struct Answering {
  // The node and queue pair that read, with the PSN and round of their request.
  std::uint32_t node = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  std::uint32_t rkey = 0;
  std::uint32_t pd = 0;
  std::uint64_t address = 0;
  // The bytes to send, and those sent.
  std::uint64_t total = 0;
  std::uint64_t sent = 0;
  // The bytes that the other node has reported as taken.
  std::uint64_t taken = 0;
};

// The old value that an atomic operation of another node found. If its answer is lost, the
// responder answers from here instead of executing it twice.
struct Found {
  std::uint32_t psn = 0;
  std::uint64_t before = 0;
};

struct Qp {
  std::uint32_t handle = 0;  // also its QP number
  // For XRC_RECV its creator; such a queue pair is held by its `holders`.
  ProcessId owner = 0;
  QpType type = QpType::rc;
  std::uint32_t pd = 0;
  std::uint32_t send_cq = 0;
  std::uint32_t recv_cq = 0;
  std::uint32_t srq = 0;
  std::uint32_t xrcd = 0;
  std::uint64_t cookie = 0;
  bool signal_all = false;
  Capacities cap;
  QpAttributes attributes;
  QpState state = QpState::reset;
  // The holders of an XRC_RECV queue pair, its creator and openers, each with the cookie that its
  // events carry.
  struct Holder {
    ProcessId process = 0;
    std::uint64_t cookie = 0;
  };
  std::vector<Holder> holders;

  Ring send;
  Ring recv;
  Traffic traffic;  // of its sending half
  // The number of send requests that the trace sink was told of.
  std::uint64_t seen = 0;

  std::uint32_t node = 0;  // of its peer; 0: this node
  bool reachable = false;  // the address belongs to a node

  // The requester. The window holds the requests that were read and are not completed, oldest
  // first. The first `sent` of them have been sent whole.
  std::deque<Outgoing> window;
  std::vector<Outgoing> spare;  // their memory is used again
  std::size_t sent = 0;
  std::uint32_t send_psn = 0;
  // The number of times it has begun again. Answers to an earlier round are ignored.
  std::uint32_t round = 0;
  // The tries that the oldest request has left after a timeout, and after "receiver not ready".
  std::uint32_t retries_left = 0;
  std::uint32_t rnr_left = 0;
  std::optional<Moment> until;  // when to try again
  // `until` is the end of a transport timeout.
  bool unanswered = false;
  // It is in the list of runnable queue pairs.
  bool scheduled = false;
  // The number of its doorbell in the process's page.
  std::uint32_t doorbell = 0;
  // The step of the oldest request that is not sent.
  Step sending;
  // The time until which `sending` waits for another process's memory.
  std::optional<Moment> patience;
  // Answers with data that wait for the owner's memory, and the step of the oldest.
  std::deque<CountedBytes> arrived;
  Step arriving;
  // There was no room for answers; the requester begins a new round once there is.
  bool starved = false;

  // The responder.
  // The PSN of the next message.
  std::uint32_t expected_psn = 0;
  // The number of messages before the expected one that are recognised if they are repeated.
  std::uint32_t executed = 0;
  std::deque<Found> found;     // of the last atomic operations
  std::uint64_t progress = 0;  // bytes of the message being received
  Receiving received;          // valid while `receiving`
  bool receiving = false;
  // A message has arrived since the queue pair became ready to receive.
  bool established = false;
  // Reads of other nodes, oldest first.
  std::deque<Answering> answering;
  // Frames of other nodes that wait behind a read which is being answered, or for memory.
  struct Frame {
    std::uint32_t node = 0;
    CountedBytes bytes;
  };
  std::deque<Frame> inbox;
  // The round of the newest frame of its peer.
  std::uint32_t their_round = 0;
  // Frames are dropped until the peer is told to send them again.
  bool turned_away = false;
  // The step of the oldest of `answering`, or else of `inbox`.
  Step serving;

  bool connected() const { return type != QpType::ud; }
  // Returns whether at least a part of the oldest request has been sent.
  bool has_begun() const { return sent > 0 || (!window.empty() && window.front().sent > 0); }
  bool reliable() const { return type != QpType::ud && type != QpType::uc; }
};

// The objects that a process has.
struct Attached {
  ProcessPage* page = nullptr;
  std::set<std::uint32_t> pds, mrs, cqs, channels, srqs, qps;
  std::vector<std::uint32_t> xrcds;  // once for each opening
  // The queue pairs that share each doorbell.
  std::vector<std::vector<std::uint32_t>> doorbell_users;
  std::uint32_t next_doorbell = 0;
  // The traffic without that of the queue pairs that it still has.
  Traffic traffic;
  std::shared_ptr<Keeping> keeping = std::make_shared<Keeping>();
};

}  // namespace scela::hca
