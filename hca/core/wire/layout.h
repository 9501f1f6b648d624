// The memory that a process and its engine share: rings of requests and completions, and the
// doorbells that say which queue has a new entry.
//
// The library writes the process's fields, the engine its own: each field of a ring has one writer,
// unless its comment names two.
//
// The engine trusts no field that the process writes: it copies each request into its own memory
// once and checks the copy. A ring holds a power of two of entries. Its two 64-bit counters never
// wrap: they count the entries written and the entries taken since the ring was made. The memory is
// a memfd of fixed size (common/os/sealed_memory.h).
//
// The layout has one version: both sides compare `kLayoutVersion` before they look at any other
// field.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/wire/values.h"

namespace scela::hca {

inline constexpr std::uint32_t kLayoutVersion = 4;
inline constexpr std::uint64_t kLayoutMagic = 0x61636853634c4131ULL;

// The usual size, in bytes, of the chunks that shared memory is handed out from. A larger chunk is
// made for one queue, and both sides unmap it when that queue is destroyed.
inline constexpr std::uint64_t kChunkBytes = 1u << 20;

// A GID of this adapter: the network address of a node's port (address.h). All zeros mean unknown.
struct Gid {
  std::uint8_t bytes[16] = {};
  friend bool operator==(const Gid&, const Gid&) = default;
};

struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

// The destination of a datagram: an address handle that the library has resolved.
struct Destination {
  Gid gid;
  std::uint16_t lid = 0;
  std::uint8_t port = 0;  // the port that it leaves by
  std::uint8_t is_global = 0;
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t sl = 0;
};

// An entry of a send queue. It is followed by `sge_count` Sge, or by `inline_bytes` of data if
// `flags` contain `kInlined`. Entries are `stride` bytes apart.
struct SendRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::send;
  std::uint32_t flags = 0;  // send_flag
  // The immediate data as the program's request has it; for `send_with_inv` it is the rkey.
  std::uint32_t immediate = 0;
  std::uint32_t sge_count = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t remote_srqn = 0;  // XRC
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;
  // For management requests: `target` is the handle of a queue pair or CQ, and `wait_until` a
  // number of requests. For `wait`, `wait_until` is a number of completions since the CQ was made.
  // For `calc`, `target` holds the operation and the type of the numbers.
  std::uint32_t target = 0;
  std::uint64_t wait_until = 0;
  Destination destination;  // UD
};

// An entry of a receive queue. It is followed by `sge_count` Sge.
struct RecvRequest {
  std::uint64_t wr_id = 0;
  std::uint32_t sge_count = 0;
  std::uint32_t reserved = 0;
};

struct Completion {
  std::uint64_t wr_id = 0;
  // The index, counted from 0, of the queue entry that this completes. All entries up to it are
  // free.
  std::uint64_t queue_index = 0;
  Status status = Status::success;
  std::uint32_t opcode = 0;  // a value of namespace done
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;  // also the invalidated rkey
  std::uint32_t qpn = 0;
  std::uint32_t source_qpn = 0;
  std::uint32_t flags = 0;  // done_flag
  std::uint32_t vendor_error = 0;
  std::uint16_t slid = 0;
  std::uint16_t sl = 0;
  // The handle of the queue pair or SRQ that the completed entry belongs to.
  std::uint32_t owner = 0;
};
static_assert(sizeof(Completion) == 64 - 8);

// The head of a send or receive queue. Its entries begin `kEntriesOffset` bytes from it.
struct RequestRing {
  alignas(64) std::atomic<std::uint64_t> posted{0};  // written by the process
  alignas(64) std::atomic<std::uint64_t> taken{
      0};  // by the engine: entries that it has read and freed
  // Written by the engine for receive queues, and for send queues that hold requests until they are
  // enabled. It is 1 if the process must also ring a doorbell for what it posts. That is so if the
  // queue pair is in error and must flush new requests, or if more requests were enabled than are
  // posted. The process reads it after it has written `posted`; both accesses are sequentially
  // consistent. The process rings for every request that it posts to another send queue.
  std::atomic<std::uint32_t> ring_on_post{0};
};

// The completions for which a channel gets an event: none, any, or only those that are solicited or
// have failed.
enum class Armed : std::uint32_t { no, any, solicited };
// The head of a completion queue.
struct CompletionRing {
  alignas(64) std::atomic<std::uint64_t> produced{0};  // written by the engine
  std::atomic<std::uint32_t> broken{0};                // by the engine: set when it overflows
  alignas(64) std::atomic<std::uint64_t> consumed{0};  // written by the process
  std::atomic<std::uint32_t> armed{0};                 // Armed: process sets, engine clears
  std::atomic<std::uint32_t> watched{0};               // process sets to be woken, engine clears
};

inline constexpr std::uint64_t kEntriesOffset = 128;
static_assert(sizeof(RequestRing) == kEntriesOffset && sizeof(CompletionRing) == kEntriesOffset);

// Parts of a long message that a polling process may copy itself (hca/core/model/copy_jobs.h). The
// process copies straight between its memory and the other's, while the engine needs an
// intermediate buffer. The engine offers parts anew for each message, and moves those that the
// process does not take.
inline constexpr std::uint32_t kCopyJobs = 16;
enum class CopyJobState : std::uint32_t {
  none,     // the engine owns the entry
  offered,  // the side that changes this owns it
  // The process is copying. The entry stays as it is, but the engine may set `there.bytes` to 0.
  begun,
  // The process has copied the part.
  done,
  // The process could not copy the part: not all of the memory exists.
  refused,
};
// A push copies into the other process's memory, a pull out of it.
enum class CopyJobKind : std::uint32_t { push, pull };
struct alignas(64) CopyJob {
  std::atomic<CopyJobState> state{CopyJobState::none};
  CopyJobKind kind = CopyJobKind::push;
  std::uint64_t here = 0;  // in the process's memory
  // A range of the other process's memory, laid out as the kernel's iovec. The kernel reads it when
  // the transfer begins.
  struct There {
    std::uint64_t address = 0;
    std::atomic<std::uint64_t> bytes{0};
  } there;
  std::uint64_t bytes = 0;
  std::uint64_t offer = 0;  // number of the message's offer
  // The number that the engine has given the other process, which it never uses again.
  std::uint32_t peer = 0;
  std::uint32_t pid = 0;
};
struct CopyJobBoard {
  // Written by the engine: 1 while there may be offers.
  alignas(64) std::atomic<std::uint32_t> open{0};
  // Written by the engine: 1 while it sleeps on `finished`.
  std::atomic<std::uint32_t> awaited{0};
  // Written by the engine: the PID namespace (its inode number) that `pid` belongs to. If it is 0,
  // the engine offers no parts.
  std::uint64_t pid_space = 0;
  // Set by the process while it polls; the engine clears it.
  alignas(64) std::atomic<std::uint32_t> willing{0};
  // Written by the process: the id of the thread that takes parts.
  std::atomic<std::uint32_t> thread{0};
  // A futex: the process adds 1 for each part that it has finished.
  std::atomic<std::uint32_t> finished{0};
  CopyJob jobs[kCopyJobs] = {};
};

// The first page of each process's memory: its doorbells, which say which of its queues have new
// entries. A queue's doorbell is a bit of `words`; `summary` has one bit for each word. If there
// are more queues than bits, queues share bits.
inline constexpr std::uint32_t kDoorbellWords = 64;
inline constexpr std::uint32_t kDoorbells = kDoorbellWords * 64;
struct ProcessPage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  alignas(64) std::atomic<std::uint64_t> summary{0};
  alignas(64) std::atomic<std::uint64_t> words[kDoorbellWords] = {};
  // The futex that a thread sleeps on after repeated polls found no completion. The engine changes
  // it when a completion arrives on a queue that a sleeping thread watches (CompletionRing), or
  // when it offers parts (CopyJobBoard).
  alignas(64) std::atomic<std::uint32_t> doorbell{0};  // written by the engine
  alignas(64) std::atomic<std::uint32_t> waiters{0};   // by the process: sleeping threads
  CopyJobBoard board;
};
static_assert(sizeof(ProcessPage) <= 4096);

// One page per engine, mapped by all of its processes. It says whether the engine sleeps and must
// be woken by a write to its eventfd.
struct EnginePage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  alignas(64) std::atomic<std::uint32_t> asleep{0};
};

// Orders: if the engine cannot access a process's memory, the process copies bytes between it and
// an area that both map. One thread of the library carries the orders out, one after the other
// (hca/library/link/service.h), so that orders of one process never overlap. The constant kOrders
// is the number of slots, for orders that wait, are carried out, or have results to be collected.
inline constexpr std::uint32_t kOrders = 16;
inline constexpr std::uint64_t kOrderBytes = 64 * 1024;
inline constexpr std::uint32_t kOrdersDoorbell = kDoorbells - 1;  // rung when an order is over

// `fetch` copies the process's memory into the slot's area, and `store` copies the other way. The
// others are atomic operations on 8 bytes.
enum class OrderKind : std::uint32_t { fetch, store, compare_swap, fetch_add };
struct RemoteMemoryOp {
  OrderKind kind = OrderKind::fetch;
  std::uint32_t reserved = 0;
  std::uint64_t address = 0;      // in the process's memory
  std::uint64_t bytes = 0;        // 8 if a number is changed
  std::uint64_t compare_add = 0;  // as in SendRequest
  std::uint64_t swap = 0;
};
// Returns the new value of the number that an atomic order changes.
inline std::uint64_t changed(OrderKind kind, std::uint64_t number, std::uint64_t compare_add,
                             std::uint64_t swap) {
  if (kind == OrderKind::fetch_add) return number + compare_add;
  return number == compare_add ? swap : number;
}
// The engine sets `waits`, and `cancelled` if the order has not been begun. The process sets the
// others. `refused` means that not all of the memory exists.
enum class OrderState : std::uint32_t { waits, begun, done, refused, cancelled };
struct OrderSlot {
  std::atomic<OrderState> state{OrderState::cancelled};
  RemoteMemoryOp order;
};
// The head of the area of orders. The bytes of slot n begin at kOrderDataOffset + n * kOrderBytes.
struct OrderQueue {
  alignas(64) std::atomic<std::uint64_t> posted{0};  // written by the engine
  std::atomic<std::uint32_t> doorbell{0};            // by the engine: the thread's futex
  // Written by the process: orders that are over, with the cancelled ones.
  alignas(64) std::atomic<std::uint64_t> carried{0};
  // Set by the process while its thread sleeps on `doorbell`; the engine clears it.
  std::atomic<std::uint32_t> asleep{0};
  alignas(64) std::atomic<std::uint32_t> slots[kOrders] = {};  // slot of order n, at n % kOrders
  alignas(64) OrderSlot orders[kOrders] = {};
};
inline constexpr std::uint64_t kOrderDataOffset = 4096;
static_assert(sizeof(OrderQueue) <= kOrderDataOffset);
inline constexpr std::uint64_t kOrderAreaBytes = kOrderDataOffset + kOrders * kOrderBytes;

// A range of a process's shared memory. Chunks are numbered in the order in which the engine handed
// them over; `offset` is in bytes from the start of the chunk.
struct Region {
  std::uint32_t chunk = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0 means that there is no range
};

}  // namespace scela::hca
