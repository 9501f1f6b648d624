// The objects of the interpreter: protection domains, memory regions, queues and queue pairs, as
// verbs name them.
//
// They are plain values that refer to each other by handle, the number that ObjectTables gives an
// object; 0 is no object. ObjectTables finds them, and the parts in hca/core/interp execute their
// requests. The interpreter's one thread uses them.
//
// A requester is the sending half of a queue pair, a responder the receiving half of its peer. A
// message between nodes is sent in parts, each in a frame (hca/core/wire/engine_frame.h). A step is
// the next action of a queue pair, which may have to wait for a process's memory
// (hca/core/model/transfer.h). A round begins each time that a requester sends again what was not
// answered.
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
#include "hca/core/wire/engine_messages.h"
#include "hca/core/wire/shared_layout.h"
#include "hca/core/wire/table.h"

namespace scela::hca {

// A protection domain.
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

// A completion queue.
struct Cq {
  std::uint32_t handle = 0;
  ProcessId owner = 0;
  // The channel that gets its events; 0: none.
  std::uint32_t channel = 0;
  // A value of the process, which its events carry.
  std::uint64_t cookie = 0;
  // The queue pairs and SRQs that report to it.
  std::uint32_t users = 0;
  // The memory that the process maps too.
  CompletionRing* ring = nullptr;
  Region region;
  std::uint64_t entries = 0;  // a power of two
  // The number of completions since the CQ was made.
  std::uint64_t produced = 0;
  // It overwrites completions that were not taken, instead of breaking.
  bool ignore_overrun = false;
  // It overflowed; it gets no more completions.
  bool broken = false;
  // The queue pairs that a WAIT holds. They run again after the next completion of this queue.
  std::set<std::uint32_t> parked;
};

// The entries of a send or receive queue, as the engine sees them. An entry has an index, counted
// from 0 since the queue was made.
struct Ring {
  // The memory that the process maps too. `head` is null if there is no such queue.
  RequestRing* head = nullptr;
  std::byte* entries = nullptr;
  Region region;
  std::uint32_t slots = 0;   // a power of two
  std::uint32_t stride = 0;  // bytes from entry to entry
  std::uint32_t sges = 0;    // limit of one request
  std::uint64_t next = 0;    // index of the entry to read next
  bool managed = false;      // its requests wait to be enabled
  // If `managed`, entries with an index below this may be executed.
  std::uint64_t enabled = 0;

  // Returns the index behind the posted entries. A process may claim to have posted more entries
  // than fit; then it counts as many as fit.
  std::uint64_t end() const {
    const std::uint64_t posted = posted_to(*head);
    return posted - next > slots ? next + slots : posted;
  }
  // Returns the index behind the entries that may be executed.
  std::uint64_t ready() const { return managed ? std::min(enabled, end()) : end(); }
  // Returns the entry with this index, in the memory that the process may change at any time.
  const std::byte* entry(std::uint64_t index) const {
    return entries + (index & (slots - 1)) * stride;
  }
};

// A receive request that was read and that a message is filling.
struct Receiving {
  std::uint64_t wr_id = 0;
  // Its index in the queue that it came from.
  std::uint64_t index = 0;
  ProcessId owner = 0;      // the process that owns its memory
  std::uint32_t queue = 0;  // QP or SRQ that it came from
  // The CQ that gets its completion, and the protection domain of its buffers.
  std::uint32_t cq = 0;
  std::uint32_t pd = 0;
  // A number that is drawn anew each time that a receive request is taken, or taken again. It
  // distinguishes this filling from others.
  std::uint64_t taking = 0;
  // The queue pair with the step that fills it (TransferSteps::may_fill).
  std::uint32_t filler = 0;
  std::vector<Sge> sges;
};

// A shared receive queue.
struct Srq {
  std::uint32_t handle = 0;  // also its SRQ number
  ProcessId owner = 0;
  SrqType type = SrqType::basic;
  std::uint32_t pd = 0;
  std::uint32_t xrcd = 0;  // XRC domain; 0: basic SRQ
  std::uint32_t cq = 0;    // XRC: gets its completions
  // If fewer requests than this are left, the process gets an event, once.
  std::uint32_t limit = 0;     // 0: not armed
  std::uint32_t requests = 0;  // its capacity, in requests
  std::uint64_t cookie = 0;    // of the process, for its events
  std::uint32_t users = 0;     // queue pairs that receive from it
  Ring ring;
  // Requests that a queue pair had begun to fill before it was destroyed or reset. The next
  // messages fill them.
  std::deque<Receiving> returned;
};

// An XRC domain. The device and the inode are those of the file by which processes share it.
struct Xrcd {
  std::uint32_t handle = 0;
  std::uint64_t file_device = 0;  // both 0: private to its opener
  std::uint64_t file_inode = 0;
  std::vector<ProcessId> openers;  // once for each opening
  // Returns true if the process has opened the domain and not closed it.
  bool has_opener(ProcessId process) const { return std::ranges::count(openers, process) != 0; }
};

// A range of a process's memory, in bytes.
struct Piece {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// A send request that the engine has read once from a send queue, and how far it has been executed.
struct Outgoing {
  SendRequest request;
  // Its index in the send queue.
  std::uint64_t index = 0;
  Moment began = 0;  // when it was read; for the trace
  std::vector<Sge> sges;
  // Inline data, or the payload of a datagram once it is gathered.
  std::vector<std::byte> data;
  // Its buffers in the owner's memory, looked up anew for each part that is sent.
  std::vector<Piece> pieces;
  // The length of the message; 8 for an atomic operation.
  std::uint64_t bytes = 0;
  // The bytes of it that were sent in this round.
  std::uint64_t sent = 0;
  // The bytes of it that the other node has reported as taken.
  std::uint64_t taken = 0;
  std::uint32_t psn = 0;
  // The old value of an atomic operation that was carried out, until that result is stored.
  std::optional<std::uint64_t> before;
  // For a datagram that is being sent: how often it is still to be sent (Faults). `served` are the
  // members of its group that have received it this time.
  std::optional<int> times;
  std::set<std::uint32_t> served;
  // For a datagram that is late on purpose (Faults), the time at which it arrives; otherwise 0.
  Moment late_until = 0;
  // The request was answered or found wrong, and `status` is set. It completes once all requests
  // before it have.
  bool done = false;
  Status status = Status::success;
};

// A read by a queue pair of another node, while its data is being sent there.
struct Answering {
  // The node and queue pair that read, with the PSN and round of their request.
  std::uint32_t node = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  // The memory that is read: the region's key, the protection domain, and the address in terms of
  // the region's iova.
  std::uint32_t rkey = 0;
  std::uint32_t pd = 0;
  std::uint64_t address = 0;
  // The bytes to send, and those sent.
  std::uint64_t total = 0;
  std::uint64_t sent = 0;
  // The bytes that the other node has reported as taken.
  std::uint64_t taken = 0;
};

// The old value that an atomic operation of another node found in memory, with the number of its
// message. If its answer is lost, the responder answers from here instead of executing it twice.
struct Found {
  std::uint32_t psn = 0;
  std::uint64_t before = 0;
};

// A queue pair: its attributes, its two queues, and the state of its requester and its responder.
struct Qp {
  std::uint32_t handle = 0;  // also its QP number
  // For XRC_RECV its creator; such a queue pair is held by its `holders`.
  ProcessId owner = 0;
  QpType type = QpType::rc;
  std::uint32_t pd = 0;
  std::uint32_t send_cq = 0;
  std::uint32_t recv_cq = 0;
  std::uint32_t srq = 0;     // 0: it has its own queue
  std::uint32_t xrcd = 0;    // of an XRC_RECV queue pair
  std::uint64_t cookie = 0;  // of the owner, for its events
  bool signal_all = false;   // all sends generate completions
  Capacities cap;            // granted
  // As ibv_modify_qp has set them. `state` counts, not `attributes.state`.
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
  // The send requests before this index were reported to the trace sink.
  std::uint64_t seen = 0;

  // Its peer's node; 0: this node.
  std::uint32_t node = 0;
  bool reachable = false;  // the address belongs to a node

  // The requester. The window holds the send requests that were read and are not completed, oldest
  // first. The first `sent` of them have been sent whole.
  std::deque<Outgoing> window;
  // Completed requests, kept because their memory is used again.
  std::vector<Outgoing> spare;
  std::size_t sent = 0;
  std::uint32_t send_psn = 0;  // of the next message
  // How often it has begun to send again. Answers to an earlier round are ignored.
  std::uint32_t round = 0;
  // The tries that the oldest request has left after a timeout, and after "receiver not ready".
  std::uint32_t retries_left = 0;
  std::uint32_t rnr_left = 0;
  // It sends nothing before this time.
  std::optional<Moment> until;
  // True if `until` is the end of a transport timeout: a try is then used up.
  bool unanswered = false;
  // It is in the Scheduler's list of queue pairs that run next.
  bool scheduled = false;
  // The number of its doorbell in the process's page.
  std::uint32_t doorbell = 0;
  // The step of the oldest request that is not sent whole.
  Step sending;
  // The time at which `sending` gives up if it still waits for another process's memory.
  std::optional<Moment> patience;
  // Frames with answers that wait because the owner's memory does not take their data yet, and the
  // step of the oldest.
  std::deque<CountedBytes> arrived;
  Step arriving;
  // There was no room for such frames, and they were dropped. The requester sends nothing until
  // there is room.
  bool waits_for_answer_room = false;

  // The responder. The PSN of the next message.
  std::uint32_t expected_psn = 0;
  // How many messages before the expected one are answered again if they are repeated.
  std::uint32_t executed = 0;
  std::deque<Found> found;  // of the last 16 atomic operations
  // Bytes of the message being received that have arrived.
  std::uint64_t progress = 0;
  Receiving received;      // valid while `receiving` is true
  bool receiving = false;  // a message is filling `received`
  // A message has arrived since the queue pair became ready to receive.
  bool established = false;
  // Reads of other nodes, oldest first.
  std::deque<Answering> answering;
  // Requests of other nodes that were not executed yet, as frames. They wait behind a read that is
  // being answered, or for a process's memory.
  struct Frame {
    std::uint32_t node = 0;
    CountedBytes bytes;
  };
  std::deque<Frame> inbox;
  // The round that the newest frame of its peer had.
  std::uint32_t peer_round = 0;
  // There was no room in `inbox`: frames are dropped until the peer is asked to send them again.
  bool turned_away = false;
  // The step of the oldest entry of `answering`, or else of `inbox`.
  Step serving;

  // Returns true for every type but UD.
  bool connected() const { return type != QpType::ud; }
  // Returns whether at least a part of the oldest request has been sent.
  bool has_begun() const { return sent > 0 || (!window.empty() && window.front().sent > 0); }
  // Returns true for RC and XRC: a message is answered, and sent again if it is not.
  bool reliable() const { return type != QpType::ud && type != QpType::uc; }
};

// A process that is attached, and its objects by their numbers.
struct Attached {
  ProcessPage* page = nullptr;  // its doorbells
  std::set<std::uint32_t> pds, mrs, cqs, channels, srqs, qps;
  std::vector<std::uint32_t> xrcds;  // once for each opening
  // The queue pairs that share each doorbell; the index is the doorbell's number.
  std::vector<std::vector<std::uint32_t>> doorbell_users;
  // The search for a free doorbell begins at this number (modulo kDoorbells).
  std::uint32_t next_doorbell = 0;
  // The traffic without that of the queue pairs that it still has.
  Traffic traffic;
  // The bytes that the engine keeps for it (CountedBytes).
  std::shared_ptr<Keeping> keeping = std::make_shared<Keeping>();
};

}  // namespace scela::hca
