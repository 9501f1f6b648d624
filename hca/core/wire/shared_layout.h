// The memory that a process and its engine share: rings of requests and completions, and the
// doorbells that say which queue has a new entry. The library and the engine map it.
//
// The library writes the process's fields, the engine its own: each field of a ring has one writer,
// unless its comment names two.
//
// The engine trusts no field that the process writes: it copies each request into its own memory
// once and checks the copy. A ring holds a power of two of entries. Its two 64-bit counters never
// wrap: they count the entries written and the entries taken since the ring was made. The entry
// with index i is at i modulo the number of entries. The memory is a memfd of fixed size
// (common/os/sealed_memory.h).
//
// A handle is the number by which the engine knows an object of verbs (a queue pair, a CQ and so
// on). 0 is no object. A cookie is a number that the library gives an object, and that the engine
// repeats in events about it. Memory is handed out in pieces of chunks: a chunk is one memfd, and a
// Region names a range of it.
//
// The layout has one version: both sides compare `kLayoutVersion` before they look at any other
// field.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/wire/values.h"

namespace scela::hca {

// The version of this layout and of the messages; it changes with any of them.
inline constexpr std::uint32_t kLayoutVersion = 4;
// The first eight bytes of a shared page.
inline constexpr std::uint64_t kLayoutMagic = 0x61636853634c4131ULL;

// The usual size, in bytes, of the chunks that shared memory is handed out from. A larger chunk is
// made for one queue, and both sides unmap it when that queue is destroyed.
inline constexpr std::uint64_t kChunkBytes = 1u << 20;

// A GID of this adapter: the network address of a node's port (port_address.h). All zeros mean
// unknown.
struct Gid {
  std::uint8_t bytes[16] = {};
  friend bool operator==(const Gid&, const Gid&) = default;
};

// A scatter/gather entry: a buffer in registered memory.
struct Sge {
  std::uint64_t address = 0;  // in terms of the region's iova
  std::uint32_t length = 0;   // bytes
  std::uint32_t lkey = 0;     // key of the region
};

// The destination of a datagram: the fields of an address handle and of the request, which the
// library combines.
struct Destination {
  Gid gid;
  std::uint16_t lid = 0;       // used if `is_global` is 0
  std::uint8_t port = 0;       // port that the datagram leaves by
  std::uint8_t is_global = 0;  // 1: `gid` counts, 0: `lid`
  std::uint32_t qpn = 0;       // the receiver's
  std::uint32_t qkey = 0;
  std::uint32_t sl = 0;  // service level; without effect
};

// An entry of a send queue. It is followed by `sge_count` Sge, or by `inline_bytes` of data if
// `flags` contain `kInlined`. Entries are as many bytes apart as the answer to `create_qp` says
// (Answer::send_stride).
struct SendRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::send;
  std::uint32_t flags = 0;  // bits of namespace send_flag
  // The immediate data as the program's request has it; for `send_with_inv` it is the rkey.
  std::uint32_t immediate = 0;
  std::uint32_t sge_count = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t remote_srqn = 0;     // XRC: SRQ that receives
  std::uint64_t remote_address = 0;  // in terms of the region's iova
  // The operands of an atomic operation: the number to compare with or to add, and the number that
  // replaces an equal one.
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;  // key of the remote region
  // For management requests (hca/include/scela/verbs_ext.h). Those that enable requests name a
  // queue pair by its handle in `target`, and in `wait_until` how many requests. For `wait`,
  // `target` is the handle of a CQ, and `wait_until` a number of completions since the CQ was made.
  // For `calc`, the lowest 8 bits of `target` are a CalcOp, and the others a CalcType
  // (hca/core/model/calc.h).
  std::uint32_t target = 0;
  std::uint64_t wait_until = 0;
  Destination destination;  // UD only
};

// An entry of a receive queue. It is followed by `sge_count` Sge.
struct RecvRequest {
  std::uint64_t wr_id = 0;
  std::uint32_t sge_count = 0;
  std::uint32_t reserved = 0;
};

// An entry of a completion queue.
struct Completion {
  std::uint64_t wr_id = 0;
  // The index, counted from 0, of the queue entry that this completes. Except in an SRQ, all
  // entries before it are then over too.
  std::uint64_t queue_index = 0;
  Status status = Status::success;
  std::uint32_t opcode = 0;     // a value of namespace done
  std::uint32_t bytes = 0;      // length of the message
  std::uint32_t immediate = 0;  // also the invalidated rkey
  std::uint32_t qpn = 0;        // queue pair that this is of
  std::uint32_t source_qpn = 0;
  std::uint32_t flags = 0;  // bits of namespace done_flag
  std::uint32_t vendor_error = 0;
  std::uint16_t slid = 0;  // the sender's LID
  std::uint16_t sl = 0;
  // The handle of the queue pair or SRQ that the completed entry belongs to.
  std::uint32_t owner = 0;
};
static_assert(sizeof(Completion) == 64 - 8);

// The head of a send or receive queue. Its entries begin `kEntriesOffset` bytes after its start.
struct RequestRing {
  // Written by the process: the number of requests that it has posted since the ring was made.
  alignas(64) std::atomic<std::uint64_t> posted{0};
  // Written by the engine: the number of entries that it has read, and that are free again.
  alignas(64) std::atomic<std::uint64_t> taken{0};
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
// The head of a completion queue. Its entries (Completion) begin `kEntriesOffset` bytes after its
// start.
struct CompletionRing {
  // Written by the engine: the number of completions since the CQ was made.
  alignas(64) std::atomic<std::uint64_t> produced{0};
  // Written by the engine: 1 once the CQ has overflowed. It gets no more completions then.
  std::atomic<std::uint32_t> broken{0};
  // Written by the process: the number of completions that it has taken.
  alignas(64) std::atomic<std::uint64_t> consumed{0};
  // A value of Armed: the process sets it to get an event, and the engine clears it.
  std::atomic<std::uint32_t> armed{0};
  // The process sets it to 1 before its polls sleep, and the engine clears it when it wakes them.
  std::atomic<std::uint32_t> watched{0};
};

// The bytes from the head of a ring to its first entry.
inline constexpr std::uint64_t kEntriesOffset = 128;
static_assert(sizeof(RequestRing) == kEntriesOffset && sizeof(CompletionRing) == kEntriesOffset);

// Copy jobs are parts of a long message that a polling process may copy itself
// (hca/core/model/copy_jobs.h). The process copies straight between its memory and the other's,
// while the engine needs an intermediate buffer. The engine offers parts anew for each message, and
// moves those that the process does not take. The constant is the greatest number of parts on
// offer.
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
// One part: what is to be copied, and how far that is.
struct alignas(64) CopyJob {
  std::atomic<CopyJobState> state{CopyJobState::none};
  CopyJobKind kind = CopyJobKind::push;
  std::uint64_t here = 0;  // address in the process's memory
  // A range of the other process's memory, laid out as the kernel's iovec. The kernel reads it when
  // the transfer begins.
  struct There {
    std::uint64_t address = 0;
    std::atomic<std::uint64_t> bytes{0};
  } there;
  std::uint64_t bytes = 0;  // length of the part
  std::uint64_t offer = 0;  // number of the message's offer
  // The other process: the number that the engine has given it, which is never used again, and its
  // process number.
  std::uint32_t peer = 0;
  std::uint32_t pid = 0;
};
// The copy jobs that the engine offers to one process.
struct CopyJobBoard {
  // Written by the engine: 1 while there may be offers.
  alignas(64) std::atomic<std::uint32_t> open{0};
  // Written by the engine: 1 while it sleeps on `finished`.
  std::atomic<std::uint32_t> awaited{0};
  // Written by the engine: the PID namespace (its inode number) that `pid` belongs to. If it is 0,
  // the engine offers no parts.
  std::uint64_t pid_space = 0;
  // Set to 1 by the process after a poll that found nothing; the engine clears it.
  alignas(64) std::atomic<std::uint32_t> willing{0};
  // Written by the process: the id (gettid) of the thread that takes parts.
  std::atomic<std::uint32_t> thread{0};
  // A futex: the process adds 1 for each part that it has finished.
  std::atomic<std::uint32_t> finished{0};
  CopyJob jobs[kCopyJobs] = {};
};

// A doorbell is a bit of ProcessPage::words, which says that a queue has new entries. `summary` has
// one bit for each word. If there are more queues than bits, queues share bits.
inline constexpr std::uint32_t kDoorbellWords = 64;
inline constexpr std::uint32_t kDoorbells = kDoorbellWords * 64;
// The first page of each process's shared memory (chunk 0).
struct ProcessPage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  // Set by the process, cleared by the engine. Bit i of `summary` says that words[i] is not 0.
  alignas(64) std::atomic<std::uint64_t> summary{0};
  alignas(64) std::atomic<std::uint64_t> words[kDoorbellWords] = {};
  // The futex that a thread sleeps on after repeated polls found no completion. The engine changes
  // it when a completion arrives on a queue that a sleeping thread watches (CompletionRing), or
  // when it offers parts (CopyJobBoard).
  alignas(64) std::atomic<std::uint32_t> doorbell{0};  // written by the engine
  // Written by the process: the number of threads that sleep on `doorbell`, or are about to.
  alignas(64) std::atomic<std::uint32_t> waiters{0};
  CopyJobBoard board;
};
static_assert(sizeof(ProcessPage) <= 4096);

// One page per engine, mapped by all of its processes.
struct EnginePage {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t reserved = 0;
  // The engine sets it to 1 before it sleeps. A process that finds 1 clears it and writes to its
  // eventfd, which wakes the engine.
  alignas(64) std::atomic<std::uint32_t> asleep{0};
};

// An order asks a process to copy bytes for the engine. It is used if the kernel does not let the
// engine access the process's memory. The bytes go through an area that both map. One thread of the
// library carries the orders out, one after the other, so that orders of one process never overlap
// (hca/library/link/service.h). The constant is the number of slots: for orders that wait, are
// carried out, or have results to be collected.
inline constexpr std::uint32_t kOrders = 16;
// The greatest length of one order, and the size of each slot's data.
inline constexpr std::uint64_t kOrderBytes = 64 * 1024;
// The doorbell that the process sets when an order is over.
inline constexpr std::uint32_t kOrdersDoorbell = kDoorbells - 1;

// `fetch` copies the process's memory into the slot's data, and `store` copies the other way. The
// others are atomic operations on 8 bytes of the process's memory; the old value goes to the data.
enum class OrderKind : std::uint32_t { fetch, store, compare_swap, fetch_add };
// One order. `compare_add` and `swap` are the operands of an atomic operation (SendRequest).
struct RemoteMemoryOp {
  OrderKind kind = OrderKind::fetch;
  std::uint32_t reserved = 0;
  std::uint64_t address = 0;  // in the process's memory
  std::uint64_t bytes = 0;    // 8 for an atomic operation
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
};
// Returns the value that an atomic order leaves in memory. `kind` is compare_swap or fetch_add,
// `number` the value that it found, and the other two are its operands.
inline std::uint64_t changed(OrderKind kind, std::uint64_t number, std::uint64_t compare_add,
                             std::uint64_t swap) {
  if (kind == OrderKind::fetch_add) return number + compare_add;
  return number == compare_add ? swap : number;
}
// The state of a slot's order. The engine sets `waits`, and `cancelled` if the process has not
// begun the order. The process sets the others. `refused` means that not all of the memory exists.
enum class OrderState : std::uint32_t { waits, begun, done, refused, cancelled };
struct OrderSlot {
  std::atomic<OrderState> state{OrderState::cancelled};
  RemoteMemoryOp order;
};
// The head of the area of orders. Orders are numbered from 0. The data of slot n begins at
// kOrderDataOffset + n * kOrderBytes in the area.
struct OrderQueue {
  // Written by the engine: the number of orders that it has given.
  alignas(64) std::atomic<std::uint64_t> posted{0};
  // The futex that the thread sleeps on. The engine adds 1 to wake it, as the process does to end
  // it.
  std::atomic<std::uint32_t> doorbell{0};
  // Written by the process: the number of orders that are over, including the cancelled ones.
  alignas(64) std::atomic<std::uint64_t> carried{0};
  // Set by the process while its thread sleeps on `doorbell`; the engine clears it.
  std::atomic<std::uint32_t> asleep{0};
  // slots[n % kOrders] is the number of the slot that has order n.
  alignas(64) std::atomic<std::uint32_t> slots[kOrders] = {};
  alignas(64) OrderSlot orders[kOrders] = {};
};
inline constexpr std::uint64_t kOrderDataOffset = 4096;
static_assert(sizeof(OrderQueue) <= kOrderDataOffset);
// The size of the whole area.
inline constexpr std::uint64_t kOrderAreaBytes = kOrderDataOffset + kOrders * kOrderBytes;

// A range of a process's shared memory. Chunks are numbered from 0, in the order in which the
// engine handed them over; `offset` is in bytes from the start of the chunk.
struct Region {
  std::uint32_t chunk = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0 means that there is no range
};

}  // namespace scela::hca
