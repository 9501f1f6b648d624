// The objects of the interpreter: what verbs calls protection domains, memory regions, queues and
// queue pairs. Values and links by number; what they do is in control, requester and responder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "hca/core/bells.h"
#include "hca/core/counted.h"
#include "hca/core/engine.h"
#include "hca/core/layout.h"
#include "hca/core/messages.h"
#include "hca/core/table.h"
#include "hca/core/transfer.h"

namespace scela::hca {

struct Pd {
  ProcessId owner = 0;
  std::uint32_t users = 0;  // regions, queues and queue pairs
};

struct Mr {
  ProcessId owner = 0;
  std::uint32_t pd = 0;
  std::uint64_t address = 0;  // in the owner's memory
  std::uint64_t length = 0;   // bytes
  std::uint64_t iova = 0;     // the address by which requests name its first byte
  std::uint32_t access = 0;
};

struct Channel {
  ProcessId owner = 0;
  std::uint32_t users = 0;
};

struct Cq {
  std::uint32_t handle = 0;
  ProcessId owner = 0;
  std::uint32_t channel = 0;
  std::uint64_t cookie = 0;
  std::uint32_t users = 0;
  CompletionRing* ring = nullptr;
  Region region;
  std::uint64_t entries = 0;  // a power of two
  std::uint64_t produced = 0;
  bool ignore_overrun = false;
  bool broken = false;             // it ran over; nothing more comes
  std::set<std::uint32_t> parked;  // queue pairs with a wait on it at their head
};

// The entries of a send or receive queue, as the engine sees them.
struct Ring {
  RequestRing* head = nullptr;
  std::byte* entries = nullptr;
  Region region;
  std::uint32_t slots = 0;   // a power of two
  std::uint32_t stride = 0;  // bytes
  std::uint32_t sges = 0;    // at most in one request
  std::uint64_t next = 0;    // the entry to look at next
  bool managed = false;      // held until enabled
  std::uint64_t enabled = 0;

  // The end of the entries that are posted; a process that says it has posted more than fit is
  // answered with those that do. And of those that may be executed.
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
  std::uint64_t index = 0;
  ProcessId owner = 0;      // whose memory it names
  std::uint32_t queue = 0;  // number of the QP or SRQ that it came from
  std::uint32_t cq = 0;
  std::uint32_t pd = 0;
  std::uint64_t taking = 0;  // which of all that were taken, or taken again
  std::uint32_t filler = 0;  // whose step fills it
  std::vector<Sge> sges;
};

struct Srq {
  std::uint32_t handle = 0;  // its number as well
  ProcessId owner = 0;
  SrqType type = SrqType::basic;
  std::uint32_t pd = 0;
  std::uint32_t xrcd = 0;
  std::uint32_t cq = 0;
  std::uint32_t limit = 0;  // 0: not armed
  std::uint32_t requests = 0;
  std::uint64_t cookie = 0;
  std::uint32_t users = 0;
  Ring ring;
  // Requests that a queue pair had begun to fill when it went: the next messages fill them.
  std::deque<Receiving> returned;
};

struct Xrcd {
  std::uint32_t handle = 0;
  std::uint64_t file_device = 0;  // both 0: private to its opener
  std::uint64_t file_inode = 0;
  std::vector<ProcessId> openers;  // once for each time it was opened
};

struct Piece {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// A request of a send queue, read once.
struct Outgoing {
  SendRequest request;
  std::uint64_t index = 0;
  Moment began = 0;  // the watcher's time
  std::vector<Sge> sges;
  std::vector<std::byte> data;  // inline; of a datagram, what it carries once it is gathered
  std::vector<Piece> pieces;    // of the owner's memory; looked up anew for each part that is sent
  std::uint64_t bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;  // by the other node, as far as it has said
  std::uint32_t psn = 0;
  // Of an atomic operation that was carried out and whose result is not stored yet: what was
  // before.
  std::optional<std::uint64_t> before;
  // Of a datagram that has begun to go out: how many more times it goes, and which queue pairs of
  // its group have it this time.
  std::optional<int> times;
  std::set<std::uint32_t> served;
  Moment late_until = 0;  // of a datagram that is late on purpose; else 0
  bool done = false;      // answered, or found wrong; completed once all before it are
  Status status = Status::success;
};

// What another node has asked to read, while it is being sent there.
struct Answering {
  std::uint32_t node = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t round = 0;
  std::uint32_t rkey = 0;
  std::uint32_t pd = 0;
  std::uint64_t address = 0;
  std::uint64_t total = 0;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;  // by the other node, as far as it has said
};

// What an atomic operation of another node found: its answer may be lost, and it is not to be
// carried out again.
struct Found {
  std::uint32_t psn = 0;
  std::uint64_t before = 0;
};

struct Qp {
  std::uint32_t handle = 0;  // its number as well
  ProcessId owner = 0;       // XRC_RECV: none once its creator has let go
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
  // XRC_RECV: who holds it (creator and openers), with the cookie that its events carry.
  struct Holder {
    ProcessId process = 0;
    std::uint64_t cookie = 0;
  };
  std::vector<Holder> holders;

  Ring send;
  Ring recv;
  Traffic traffic;         // of its sending half
  std::uint64_t seen = 0;  // send requests, by the watcher

  std::uint32_t node = 0;  // where it is connected to; 0: this one
  bool reachable = false;  // the address is one of a node

  // Requester. The window holds the requests that were read and are not completed, oldest first;
  // the first `sent` of them have been sent whole.
  std::deque<Outgoing> window;
  std::vector<Outgoing> spare;  // so that their memory is used again
  std::size_t sent = 0;
  std::uint32_t send_psn = 0;
  std::uint32_t round =
      0;  // how often it has begun again; answers to an earlier round mean nothing
  std::uint32_t retries_left = 0;
  std::uint32_t rnr_left = 0;
  std::optional<Moment> until;  // when to try again
  bool unanswered = false;      // `until` is the end of a transport timeout
  bool scheduled = false;
  std::uint32_t bell = 0;
  Step sending;                    // of the oldest request that is not sent
  std::optional<Moment> patience;  // until when `sending` waits for another process's memory
  // Answers, with bytes that were asked for, which wait for the owner's memory; and the step of the
  // oldest.
  std::deque<CountedBytes> arrived;
  Step arriving;
  bool starved = false;  // there was no room for answers: it begins anew once there is

  // Responder.
  std::uint32_t expected_psn = 0;
  std::uint32_t executed = 0;  // messages before that one which it knows again, if they come again
  std::deque<Found> found;     // by the last of them
  std::uint64_t progress = 0;  // bytes of the message that has begun to come
  Receiving received;          // while `receiving`
  bool receiving = false;
  bool established = false;  // something has come since it is ready to receive
  std::deque<Answering> answering;
  // Frames of other nodes that came behind a read which is being answered, or which wait for
  // memory.
  struct Frame {
    std::uint32_t node = 0;
    CountedBytes bytes;
  };
  std::deque<Frame> inbox;
  std::uint32_t their_round = 0;  // that the newest of its peer's frames is of
  bool turned_away = false;       // what comes is dropped, until its peer is told to send it again
  Step serving;                   // of the oldest of `answering`, or else of `inbox`

  bool connected() const { return type != QpType::ud; }
  // Something of its oldest request has been sent, perhaps not all.
  bool has_begun() const { return sent > 0 || (!window.empty() && window.front().sent > 0); }
  bool reliable() const { return type != QpType::ud && type != QpType::uc; }
};

// What a process has.
struct Attached {
  ProcessPage* page = nullptr;
  std::set<std::uint32_t> pds, mrs, cqs, channels, srqs, qps;
  std::vector<std::uint32_t> xrcds;                    // once for each opening
  std::vector<std::vector<std::uint32_t>> bell_users;  // which queue pairs each bell is for
  std::uint32_t next_bell = 0;
  Traffic traffic;  // without that of the queue pairs that it has
  std::shared_ptr<Keeping> keeping = std::make_shared<Keeping>();
};

}  // namespace scela::hca
