// What a process and its engine share: queues of requests and of completions, and the bells that
// say which of them has something new.
//
// Every ring has one writer per field. What the process writes is not to be trusted: the engine
// reads each request once, into memory of its own, and looks at the copy. A ring holds a power of
// two of entries; its two counters never wrap (64 bits) and are entries written and entries taken
// since it was made. The memory is a memfd whose size nobody can change
// (common/os/sealed_memory.h).
//
// All of this is one version: both sides compare `kLayoutVersion` before they look at anything
// else.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/values.h"

namespace scela::hca {

inline constexpr std::uint32_t kLayoutVersion = 4;
inline constexpr std::uint64_t kLayoutMagic = 0x61636853634c4131ULL;

// Of the chunks that memory is handed out from. A larger one was made for one queue, and goes with
// it on both sides.
inline constexpr std::uint64_t kChunkBytes = 1u << 20;

// Where to find a node's port: what a GID of this adapter holds. All zeros: unknown.
struct Gid {
  std::uint8_t bytes[16] = {};
  friend bool operator==(const Gid&, const Gid&) = default;
};

struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

// Where a datagram goes (an address handle, resolved by the library).
struct Destination {
  Gid gid;
  std::uint16_t lid = 0;
  std::uint8_t port = 0;  // that it leaves by
  std::uint8_t is_global = 0;
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t sl = 0;
};

// An entry of a send queue, followed by `sge_count` Sge, or by `inline_bytes` of data where flags
// say `inlined`. Entries are `stride` bytes apart.
struct SendRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::send;
  std::uint32_t flags = 0;      // send_flag
  std::uint32_t immediate = 0;  // as it stands in the program's request; for *_inv the rkey
  std::uint32_t sge_count = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t remote_srqn = 0;  // XRC
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;
  // Management: which queue (its number: a QP or CQ handle) and how many; for wait, `wait_until` is
  // the number of completions since the CQ was made.
  std::uint32_t target = 0;
  std::uint64_t wait_until = 0;
  Destination destination;  // UD
};

// An entry of a receive queue, followed by `sge_count` Sge.
struct RecvRequest {
  std::uint64_t wr_id = 0;
  std::uint32_t sge_count = 0;
  std::uint32_t reserved = 0;
};

struct Completion {
  std::uint64_t wr_id = 0;
  std::uint64_t queue_index =
      0;  // which entry of the queue it is of (counted from 0): frees all before
  Status status = Status::success;
  std::uint32_t opcode = 0;  // done
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;  // also the invalidated rkey
  std::uint32_t qpn = 0;
  std::uint32_t source_qpn = 0;
  std::uint32_t flags = 0;  // done_flag
  std::uint32_t vendor_error = 0;
  std::uint16_t slid = 0;
  std::uint16_t sl = 0;
  std::uint32_t owner = 0;  // handle of the QP or SRQ whose entry it is
};
static_assert(sizeof(Completion) == 64 - 8);

// At the head of a send or receive queue; entries begin at `kEntriesOffset` from it.
struct RequestRing {
  alignas(64) std::atomic<std::uint64_t> posted{0};  // by the process
  alignas(64) std::atomic<std::uint64_t> taken{
      0};  // by the engine: read, so that the entry is free
  // By the engine, of receives, and of sends that are held until they are enabled: what is posted
  // must be told by a bell as well (the queue pair is in error, and what comes is to be flushed; or
  // it was enabled before). Looked at after `posted` was written, both sequentially consistent.
  // Other send queues always ring.
  std::atomic<std::uint32_t> ring_on_post{0};
};

// At the head of a completion queue.
enum class Armed : std::uint32_t { no, any, solicited };
struct CompletionRing {
  alignas(64) std::atomic<std::uint64_t> produced{0};  // by the engine
  std::atomic<std::uint32_t> broken{0};  // by the engine: it ran over; nothing more comes
  alignas(64) std::atomic<std::uint64_t> consumed{0};  // by the process
  std::atomic<std::uint32_t> armed{0};                 // Armed; the process sets, the engine clears
  std::atomic<std::uint32_t> watched{0};  // the process sets it to be woken, the engine clears it
};

inline constexpr std::uint64_t kEntriesOffset = 128;
static_assert(sizeof(RequestRing) == kEntriesOffset && sizeof(CompletionRing) == kEntriesOffset);

// Parts of a long message that the process may move itself while it polls in vain: straight between
// its memory and another's, where the engine needs a copy in between (errands.h). Offered anew for
// each message; the engine moves what nobody takes.
inline constexpr std::uint32_t kErrands = 16;
enum class ErrandState : std::uint32_t {
  none,     // the engine's, as is what stands in it
  offered,  // whoever changes this has it
  begun,    // by the process: what stands in it stays, but for `there.bytes`, which may become 0
  done,
  refused,
};
enum class ErrandKind : std::uint32_t { push, pull };  // into the other's memory, or out of it
struct alignas(64) Errand {
  std::atomic<ErrandState> state{ErrandState::none};
  ErrandKind kind = ErrandKind::push;
  std::uint64_t here = 0;  // in the process's memory
  // In the other's; as the kernel takes it. Read by the kernel when the transfer begins.
  struct There {
    std::uint64_t address = 0;
    std::atomic<std::uint64_t> bytes{0};
  } there;
  std::uint64_t bytes = 0;
  std::uint64_t offer = 0;  // which one it is of
  std::uint32_t peer = 0;   // the engine's number for the other process, not used again
  std::uint32_t pid = 0;
};
struct ErrandBoard {
  alignas(64) std::atomic<std::uint32_t> open{0};  // by the engine: there may be offers
  std::atomic<std::uint32_t> awaited{0};           // by the engine: it sleeps on `finished`
  std::uint64_t pid_space = 0;  // by the engine: whose numbers `pid` is of; 0: none is offered
  alignas(64) std::atomic<std::uint32_t> willing{0};  // by the process: it polls; engine clears it
  std::atomic<std::uint32_t> thread{0};               // by the process: who has begun
  std::atomic<std::uint32_t> finished{0};             // by the process: a futex, one more for each
  Errand errands[kErrands] = {};
};

// The first page of each process's memory: which of its queues have something new. A queue's bell
// is a bit of `words`; `summary` has a bit for each word. More queues than bits share them.
inline constexpr std::uint32_t kBellWords = 64;
inline constexpr std::uint32_t kBells = kBellWords * 64;
struct ProcessPage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  alignas(64) std::atomic<std::uint64_t> summary{0};
  alignas(64) std::atomic<std::uint64_t> words[kBellWords] = {};
  // For polls that find nothing time and again: they sleep until a completion comes on a queue that
  // they watch (CompletionRing). `bell` is the futex, which changes when one of those is to wake.
  alignas(64) std::atomic<std::uint32_t> bell{0};     // by the engine
  alignas(64) std::atomic<std::uint32_t> waiters{0};  // by the process: how many sleep
  ErrandBoard board;
};
static_assert(sizeof(ProcessPage) <= 4096);

// One per engine, mapped by all of its processes: whether it must be woken (a write to its
// eventfd).
struct EnginePage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  alignas(64) std::atomic<std::uint32_t> asleep{0};
};

// Where the engine does not reach a process's memory, the process moves bytes between it and an
// area that both map: orders, which a thread of the library carries out one after the other
// (library/service.h), so that those of one process are not mixed up.
inline constexpr std::uint32_t kOrders = 16;  // that wait or are carried out, and their results
inline constexpr std::uint64_t kOrderBytes = 64 * 1024;
inline constexpr std::uint32_t kOrdersBell = kBells - 1;  // rung when an order is over

enum class OrderKind : std::uint32_t { fetch, store, compare_swap, fetch_add };
struct Order {
  OrderKind kind = OrderKind::fetch;
  std::uint32_t reserved = 0;
  std::uint64_t address = 0;      // in the process's memory
  std::uint64_t bytes = 0;        // 8 where a number is changed
  std::uint64_t compare_add = 0;  // as in SendRequest
  std::uint64_t swap = 0;
};
// What the number becomes.
inline std::uint64_t changed(OrderKind kind, std::uint64_t number, std::uint64_t compare_add,
                             std::uint64_t swap) {
  if (kind == OrderKind::fetch_add) return number + compare_add;
  return number == compare_add ? swap : number;
}
// The engine sets `waits` and, if the order has not been begun, `cancelled`.
enum class OrderState : std::uint32_t { waits, begun, done, refused, cancelled };
struct OrderSlot {
  std::atomic<OrderState> state{OrderState::cancelled};
  Order order;
};
// At the head of the area; the bytes of slot n stand at kOrderDataOffset + n * kOrderBytes.
struct OrderQueue {
  alignas(64) std::atomic<std::uint64_t> posted{0};   // by the engine
  std::atomic<std::uint32_t> bell{0};                 // by the engine: the futex of the thread
  alignas(64) std::atomic<std::uint64_t> carried{0};  // by the process: over, also if cancelled
  std::atomic<std::uint32_t> asleep{0};  // by the process: `bell` is slept on, the engine clears it
  alignas(64) std::atomic<std::uint32_t> slots[kOrders] = {};  // of order n: slots[n % kOrders]
  alignas(64) OrderSlot orders[kOrders] = {};
};
inline constexpr std::uint64_t kOrderDataOffset = 4096;
static_assert(sizeof(OrderQueue) <= kOrderDataOffset);
inline constexpr std::uint64_t kOrderAreaBytes = kOrderDataOffset + kOrders * kOrderBytes;

// Where something stands in a process's memory. Chunks are numbered in the order in which the
// engine handed them over; offsets are bytes.
struct Region {
  std::uint32_t chunk = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: there is none
};

}  // namespace scela::hca
