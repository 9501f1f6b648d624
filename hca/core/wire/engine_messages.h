// The requests of a process to its engine and their answers: one datagram each way
// (SOCK_SEQPACKET), answered in the engine's order. The library sends an Ask, the engine an Answer.
// Some answers bring file descriptors (SCM_RIGHTS).
//
// A handle is the number by which the engine knows an object; 0 is none. A cookie is a number that
// the library chooses for an object, and that events about it repeat.
//
// Both sides run on one machine with one version, so the structures are copied as they are. The
// engine refuses an Ask of another size, or with another version, with EPROTO before it looks at
// any other field. Each operation below names its fields and, after "->", those of its answer; all
// others are 0.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hca/core/wire/shared_layout.h"
#include "hca/core/wire/values.h"

namespace scela::hca {

// The operations of an Ask. Each does what the verb of that name does (ibv_alloc_pd and so on). A
// comment before an operation, or behind it, lists its fields.
enum class Operation : std::uint32_t {
  // The first message of each connection, which attaches the process. Fields: address of two
  // numbers (0: none), cookie -> device, send; the descriptors of the engine page, the wake
  // eventfd, asynchronous events and chunks. The first number equals `cookie`. The engine writes
  // its complement to the second, to test whether it can access the process's memory. If it cannot,
  // `send` is the area of orders (shared_layout.h).
  hello,
  alloc_pd,    // -> handle
  dealloc_pd,  // handle
  // pd, address, length, iova, access -> handle, number (lkey and rkey)
  reg_mr,
  dereg_mr,  // handle
  // entries, channel (0: none), cookie -> handle, ring, entries
  create_cq,
  // handle, entries -> ring, entries. The new ring contains the completions of the old one.
  resize_cq,
  destroy_cq,  // handle
  // -> handle; the descriptor of its events, each the 8-byte cookie of a CQ
  create_channel,
  destroy_channel,  // handle
  // pd, cap.recv_*, limit, srq_type, xrcd, cq (both for XRC), cookie -> handle, number, recv
  create_srq,
  // handle, attribute_mask (1: cap.recv_requests, 2: limit), cap, limit
  modify_srq,
  query_srq,    // handle -> cap, limit
  destroy_srq,  // handle
  // file_device, file_inode (both 0: a private domain), open_flags -> handle
  open_xrcd,
  close_xrcd,  // handle
  // pd, send_cq, recv_cq, srq, xrcd, qp_type, cap, signal_all, create_flags, cookie -> handle,
  // number, cap, send, recv
  create_qp,
  // number, xrcd, qp_type, cookie -> handle, number
  open_qp,
  // handle, attribute_mask, attributes -> attributes.state
  modify_qp,
  query_qp,      // handle -> attributes, cap
  destroy_qp,    // handle
  attach_mcast,  // handle, gid, lid
  detach_mcast,  // handle, gid, lid
  // The fields of reg_mr, and the descriptor of a memory file that cannot shrink; `address` is an
  // offset in that file. The interpreter gets an address from kPools on (hca/core/model/host.h) and
  // no file.
  reg_pool,
};

// Bits of Ask::create_flags. The first two make queues that hold their requests until a management
// request enables them (hca/include/scela/verbs_ext.h). A CQ made with kIgnoreOverrun overwrites
// completions that were not taken, instead of failing.
namespace create_flag {
inline constexpr std::uint32_t kManagedSend = 1, kManagedRecv = 2, kIgnoreOverrun = 4;
}

// The size of queues, as in ibv_qp_cap: how many requests, how many buffers (Sge) in each, and how
// many bytes of inline data. An answer has what was granted.
struct Capacities {
  std::uint32_t send_requests = 0;
  std::uint32_t recv_requests = 0;
  std::uint32_t send_sges = 0;
  std::uint32_t recv_sges = 0;
  std::uint32_t inline_bytes = 0;
};

// The fields of ibv_qp_attr, under its names. Times are in InfiniBand's encodings: `timeout` is
// 4.096 us * 2^n (0: no timeout), min_rnr_timer as in the table of IBTA 9.7.5.2.8.
struct QpAttributes {
  QpState state = QpState::reset;
  QpState current_state = QpState::reset;
  std::uint32_t path_mtu = 0;
  std::uint32_t path_mig_state = 0;
  std::uint32_t qkey = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t sq_psn = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t access_flags = 0;
  Gid dgid;
  std::uint32_t flow_label = 0;
  std::uint16_t dlid = 0;
  std::uint8_t is_global = 0;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  std::uint8_t src_path_bits = 0;
  std::uint8_t static_rate = 0;
  std::uint8_t ah_port = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t sqd_notify = 0;
  std::uint8_t sq_draining = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t port = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t reserved[3] = {};
};

// A request. The comments of Operation say which fields count.
struct Ask {
  std::uint32_t version = kLayoutVersion;
  Operation operation = Operation::hello;
  // Handles of objects that the process already has.
  std::uint32_t handle = 0;
  std::uint32_t pd = 0;
  std::uint32_t cq = 0;  // of an XRC SRQ
  std::uint32_t send_cq = 0;
  std::uint32_t recv_cq = 0;
  std::uint32_t srq = 0;
  std::uint32_t xrcd = 0;
  std::uint32_t channel = 0;
  std::uint32_t number = 0;   // QP number to open
  std::uint32_t entries = 0;  // wanted size of a CQ
  QpType qp_type = QpType::rc;
  SrqType srq_type = SrqType::basic;
  // 1: every send request generates a completion.
  std::uint32_t signal_all = 0;
  std::uint32_t create_flags = 0;    // of namespace create_flag
  std::uint32_t limit = 0;           // of an SRQ (ibv_srq_attr)
  std::uint32_t access = 0;          // of namespace access
  std::uint32_t open_flags = 0;      // O_CREAT, O_EXCL
  std::uint32_t attribute_mask = 0;  // modify_qp: of namespace attribute
  // The memory of a region: its place in the process, its length in bytes, and the address by which
  // requests name its first byte.
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  std::uint64_t cookie = 0;
  // The file of an XRC domain (st_dev, st_ino).
  std::uint64_t file_device = 0;
  std::uint64_t file_inode = 0;
  Capacities cap;
  QpAttributes attributes;
  Gid gid;  // multicast group
  std::uint32_t lid = 0;
  std::uint32_t reserved = 0;
};

// The identity of this node towards others, reported with `hello`.
struct Device {
  std::uint64_t guid = 0;
  // The addresses of port 1 and port 2.
  Gid gids[limit::kPorts];
  std::uint16_t lids[limit::kPorts] = {};
  std::uint32_t flags = 0;  // bits of namespace device_flag
};
// Abilities that the device lacks: ibv_open_qp, and XRC.
namespace device_flag {
inline constexpr std::uint32_t kNoOpenQp = 1, kNoXrc = 2;
}

// The answer to an Ask. If `error` is not 0, no other field counts but `new_chunks`.
struct Answer {
  std::uint32_t version = kLayoutVersion;
  std::uint32_t error = 0;  // errno, or 0 for success
  std::uint32_t handle = 0;
  std::uint32_t number = 0;   // QPN, SRQN, key
  std::uint32_t entries = 0;  // of the CQ, as granted
  // The numbers of the queues' doorbells (ProcessPage::words).
  std::uint32_t send_doorbell = 0;
  std::uint32_t recv_doorbell = 0;
  // The bytes from one entry of a queue to the next.
  std::uint32_t send_stride = 0;
  std::uint32_t recv_stride = 0;
  // The entries of the rings: powers of two, at least as many as the requested ones.
  std::uint32_t send_slots = 0;
  std::uint32_t recv_slots = 0;
  std::uint32_t limit = 0;  // of an SRQ
  // The number of descriptors of new chunks that come with this answer.
  std::uint32_t new_chunks = 0;
  std::uint32_t reserved = 0;
  // The rings: of a send queue or a CQ, and of a receive queue or an SRQ.
  Region send;
  Region recv;
  Capacities cap;
  QpAttributes attributes;
  Device device;
};

// An event that arrives on the descriptor of asynchronous events (ibv_async_event). `port` is
// always 0.
struct AsyncEvent {
  EventType type = EventType::device_fatal;
  std::uint32_t port = 0;
  std::uint64_t cookie = 0;  // that of the CQ, QP or SRQ
};

static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<Answer> &&
              std::is_trivially_copyable_v<AsyncEvent>);

}  // namespace scela::hca
