// The numbers of the verbs interface that the adapter's two sides share. They equal those of
// infiniband/verbs.h under names of this project, so that the interpreter includes no system
// header.
//
// Constants and pure functions: all threads may use them. hca/library/verbs/values_check.cpp
// compares each with its original at compile time.
#pragma once

#include <cstdint>

namespace scela::hca {

// These three have the values of enum ibv_qp_type, ibv_qp_state and ibv_srq_type.
enum class QpType : std::uint32_t { rc = 2, uc = 3, ud = 4, xrc_send = 9, xrc_recv = 10 };
enum class QpState : std::uint32_t { reset, init, rtr, rts, sqd, sqe, err };
enum class SrqType : std::uint32_t { basic, xrc };

// The operation of a send request (enum ibv_wr_opcode).
enum class Opcode : std::uint32_t {
  rdma_write = 0,
  rdma_write_with_imm = 1,
  send = 2,
  send_with_imm = 3,
  rdma_read = 4,
  compare_swap = 5,
  fetch_add = 6,
  local_inv = 7,
  bind_mw = 8,
  send_with_inv = 9,
  // Management requests (hca/include/scela/verbs_ext.h), which only this adapter has.
  wait = 0x100,
  send_enable = 0x101,
  recv_enable = 0x102,
  calc = 0x103,
};

// Returns true for the atomic operations, which change 8 bytes of the peer's memory.
constexpr bool is_atomic(Opcode opcode) {
  return opcode == Opcode::compare_swap || opcode == Opcode::fetch_add;
}

// Packet sequence numbers count modulo 2^24 (InfiniBand Architecture Specification, 9.7.2).
inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;

// Bits of a send request (enum ibv_send_flags).
namespace send_flag {
inline constexpr std::uint32_t kFence = 1, kSignaled = 2, kSolicited = 4, kInlined = 8;
}

// The access rights of a memory region or a queue pair (enum ibv_access_flags).
namespace access {
inline constexpr std::uint32_t kLocalWrite = 1, kRemoteWrite = 2, kRemoteRead = 4,
                               kRemoteAtomic = 8, kMwBind = 16, kZeroBased = 32,
                               kRelaxedOrdering = 1U << 20;
}

// The status of a completion (enum ibv_wc_status).
enum class Status : std::uint32_t {
  success = 0,
  local_length = 1,
  local_qp_operation = 2,
  local_protection = 4,
  flushed = 5,
  bad_response = 7,
  local_access = 8,
  remote_invalid_request = 9,
  remote_access = 10,
  remote_operation = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  fatal = 19,
  general = 21,
};

// The operation that a completion reports (enum ibv_wc_opcode). The last four are those of
// management requests.
namespace done {
inline constexpr std::uint32_t kSend = 0, kRdmaWrite = 1, kRdmaRead = 2, kCompareSwap = 3,
                               kFetchAdd = 4, kLocalInv = 6, kReceive = 128,
                               kReceiveRdmaWithImm = 129, kWait = 0x100, kSendEnable = 0x101,
                               kRecvEnable = 0x102, kCalc = 0x103;
}

// Returns the operation that the completion of a send queue's request reports. An opcode that the
// adapter does not know is reported as a send.
constexpr std::uint32_t done_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
      return done::kRdmaWrite;
    case Opcode::rdma_read:
      return done::kRdmaRead;
    case Opcode::compare_swap:
      return done::kCompareSwap;
    case Opcode::fetch_add:
      return done::kFetchAdd;
    case Opcode::local_inv:
      return done::kLocalInv;
    case Opcode::wait:
      return done::kWait;
    case Opcode::send_enable:
      return done::kSendEnable;
    case Opcode::recv_enable:
      return done::kRecvEnable;
    case Opcode::calc:
      return done::kCalc;
    default:
      return done::kSend;
  }
}

// Bits of a completion (enum ibv_wc_flags).
namespace done_flag {
inline constexpr std::uint32_t kGrh = 1, kWithImm = 2, kWithInv = 8;
}

// Asynchronous events (enum ibv_event_type).
enum class EventType : std::uint32_t {
  cq_error = 0,
  qp_fatal = 1,
  qp_request_error = 2,
  qp_access_error = 3,
  communication_established = 4,
  sq_drained = 5,
  device_fatal = 8,
  port_active = 9,
  srq_error = 14,
  srq_limit_reached = 15,
  last_wqe_reached = 16,
};

// The attributes that a change of a queue pair's state sets (enum ibv_qp_attr_mask).
namespace attribute {
inline constexpr std::uint32_t kState = 1U << 0, kCurrentState = 1U << 1, kSqdNotify = 1U << 2,
                               kAccessFlags = 1U << 3, kPkeyIndex = 1U << 4, kPort = 1U << 5,
                               kQkey = 1U << 6, kAv = 1U << 7, kPathMtu = 1U << 8,
                               kTimeout = 1U << 9, kRetryCount = 1U << 10, kRnrRetry = 1U << 11,
                               kRqPsn = 1U << 12, kMaxRdAtomic = 1U << 13, kAltPath = 1U << 14,
                               kMinRnrTimer = 1U << 15, kSqPsn = 1U << 16,
                               kMaxDestRdAtomic = 1U << 17, kPathMigState = 1U << 18,
                               kCap = 1U << 19, kDestQpn = 1U << 20;
}

// The limits of the device, as ibv_query_device reports them. They are numbers of objects, of
// requests or of entries, or sizes in bytes. kSges is for one request. kGrhBytes is the room for
// the route header before a datagram. kOpenings limits how often a process may open XRC domains,
// and how often one queue pair may be opened.
namespace limit {
inline constexpr std::uint32_t kPorts = 2, kQpRequests = 16384, kSges = 32, kInlineBytes = 1024,
                               kCqEntries = 1U << 20, kSrqRequests = 1U << 20, kQps = 1U << 16,
                               kCqs = 1U << 16, kMrs = 1U << 22, kPds = 1U << 16, kSrqs = 1U << 16,
                               kRdAtomic = 16, kMessageBytes = 1U << 30, kGids = 1, kPkeys = 1,
                               kMcastGroups = 8192, kOpenings = 4096, kMtu = 4096, kGrhBytes = 40;
inline constexpr std::uint64_t kMrBytes = 1ULL << 47;
}  // namespace limit

}  // namespace scela::hca
