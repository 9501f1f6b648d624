// What a process asks of its engine, one datagram each way (SOCK_SEQPACKET), in the engine's order.
//
// Values of one machine and one version, so they are copied as they stand: an Ask of another size,
// or with another version, is refused with EPROTO before anything else of it is looked at. Which
// fields count is said at each operation; all others are 0.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hca/core/layout.h"
#include "hca/core/values.h"

namespace scela::hca {

enum class Operation : std::uint32_t {
  hello,     // address (of two numbers, 0: none), cookie -> device, send; descriptors: engine page,
             // wake eventfd, asynchronous events, chunks. The first number is `cookie`, the engine
             // writes its complement to the second; if it cannot, `send` is the area of orders
  alloc_pd,  // -> handle
  dealloc_pd,  // handle
  reg_mr,      // pd, address, length, iova, access -> handle, number (lkey and rkey)
  dereg_mr,    // handle
  create_cq,   // entries, channel (0: none), cookie -> handle, ring, entries
  resize_cq,  // handle, entries -> ring, entries (what stood in the old ring stands in the new one)
  destroy_cq,       // handle
  create_channel,   // -> handle; descriptor: its events (each the cookie of a CQ, 8 bytes)
  destroy_channel,  // handle
  create_srq,    // pd, cap.recv_*, limit, srq_type, xrcd, cq (both XRC), cookie -> handle, number,
                 // recv
  modify_srq,    // handle, attribute_mask (1: cap.recv_requests, 2: limit), cap, limit
  query_srq,     // handle -> cap, limit
  destroy_srq,   // handle
  open_xrcd,     // file_device, file_inode (both 0: a private one), open_flags -> handle
  close_xrcd,    // handle
  create_qp,     // pd, send_cq, recv_cq, srq, xrcd, qp_type, cap, signal_all, create_flags, cookie
                 //   -> handle, number, cap, send, recv
  open_qp,       // number, xrcd, qp_type, cookie -> handle, number
  modify_qp,     // handle, attribute_mask, attributes -> attributes.state
  query_qp,      // handle -> attributes, cap
  destroy_qp,    // handle
  attach_mcast,  // handle, gid, lid
  detach_mcast,  // handle, gid, lid
  reg_pool,      // as reg_mr, and a descriptor of a file in memory that cannot shrink; address: in
                 // that file. To the interpreter: one from kPools on (host.h), and no file
};

// Creation of queues that hold their requests until a management request enables them.
namespace create_flag {
inline constexpr std::uint32_t kManagedSend = 1, kManagedRecv = 2, kIgnoreOverrun = 4;
}

struct Capacities {
  std::uint32_t send_requests = 0;
  std::uint32_t recv_requests = 0;
  std::uint32_t send_sges = 0;
  std::uint32_t recv_sges = 0;
  std::uint32_t inline_bytes = 0;
};

// ibv_qp_attr, in its terms. Times in the encodings of InfiniBand: timeout 4.096 us * 2^n (0: for
// ever), min_rnr_timer as the table of IBTA 9.7.5.2.8.
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

struct Ask {
  std::uint32_t version = kLayoutVersion;
  Operation operation = Operation::hello;
  std::uint32_t handle = 0;
  std::uint32_t pd = 0;
  std::uint32_t cq = 0;  // of an XRC SRQ
  std::uint32_t send_cq = 0;
  std::uint32_t recv_cq = 0;
  std::uint32_t srq = 0;
  std::uint32_t xrcd = 0;
  std::uint32_t channel = 0;
  std::uint32_t number = 0;
  std::uint32_t entries = 0;
  QpType qp_type = QpType::rc;
  SrqType srq_type = SrqType::basic;
  std::uint32_t signal_all = 0;
  std::uint32_t create_flags = 0;
  std::uint32_t limit = 0;
  std::uint32_t access = 0;
  std::uint32_t open_flags = 0;
  std::uint32_t attribute_mask = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  std::uint64_t cookie = 0;
  std::uint64_t file_device = 0;
  std::uint64_t file_inode = 0;
  Capacities cap;
  QpAttributes attributes;
  Gid gid;
  std::uint32_t lid = 0;
  std::uint32_t reserved = 0;
};

// What identifies this node to others, told with `hello`.
struct Device {
  std::uint64_t guid = 0;
  Gid gids[limit::kPorts];
  std::uint16_t lids[limit::kPorts] = {};
  std::uint32_t flags = 0;  // device_flag
};
namespace device_flag {
inline constexpr std::uint32_t kNoOpenQp = 1, kNoXrc = 2;
}

struct Answer {
  std::uint32_t version = kLayoutVersion;
  std::uint32_t error = 0;  // errno; 0: done
  std::uint32_t handle = 0;
  std::uint32_t number = 0;  // QPN, SRQN, key
  std::uint32_t entries = 0;
  std::uint32_t send_bell = 0;
  std::uint32_t recv_bell = 0;
  std::uint32_t send_stride = 0;  // bytes from one entry of the send queue to the next
  std::uint32_t recv_stride = 0;
  std::uint32_t send_slots = 0;  // entries of the ring, a power of two, at least cap.send_requests
  std::uint32_t recv_slots = 0;
  std::uint32_t limit = 0;
  std::uint32_t new_chunks = 0;  // how many descriptors of new chunks come with this answer
  std::uint32_t reserved = 0;
  Region send;  // of a CQ: the completions
  Region recv;
  Capacities cap;
  QpAttributes attributes;
  Device device;
};

// Comes on the descriptor of asynchronous events.
struct AsyncEvent {
  EventType type = EventType::device_fatal;
  std::uint32_t port = 0;
  std::uint64_t cookie = 0;  // of the CQ, QP or SRQ it is about
};

static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<Answer> &&
              std::is_trivially_copyable_v<AsyncEvent>);

}  // namespace scela::hca
