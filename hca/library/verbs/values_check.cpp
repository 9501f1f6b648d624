// Checks that hca/core/wire/values.h has the same values as infiniband/verbs.h.
#include "hca/core/wire/values.h"

#include "hca/library/verbs/verbs.h"

namespace scela::hca {

namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<std::uint64_t>(ours) == static_cast<std::uint64_t>(theirs);
}

static_assert(same(QpType::rc, IBV_QPT_RC) && same(QpType::uc, IBV_QPT_UC) &&
              same(QpType::ud, IBV_QPT_UD) && same(QpType::xrc_send, IBV_QPT_XRC_SEND) &&
              same(QpType::xrc_recv, IBV_QPT_XRC_RECV));

static_assert(same(QpState::reset, IBV_QPS_RESET) && same(QpState::init, IBV_QPS_INIT) &&
              same(QpState::rtr, IBV_QPS_RTR) && same(QpState::rts, IBV_QPS_RTS) &&
              same(QpState::sqd, IBV_QPS_SQD) && same(QpState::sqe, IBV_QPS_SQE) &&
              same(QpState::err, IBV_QPS_ERR));

static_assert(same(SrqType::basic, IBV_SRQT_BASIC) && same(SrqType::xrc, IBV_SRQT_XRC));

static_assert(same(Opcode::rdma_write, IBV_WR_RDMA_WRITE) &&
              same(Opcode::rdma_write_with_imm, IBV_WR_RDMA_WRITE_WITH_IMM) &&
              same(Opcode::send, IBV_WR_SEND) &&
              same(Opcode::send_with_imm, IBV_WR_SEND_WITH_IMM) &&
              same(Opcode::rdma_read, IBV_WR_RDMA_READ) &&
              same(Opcode::compare_swap, IBV_WR_ATOMIC_CMP_AND_SWP) &&
              same(Opcode::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD) &&
              same(Opcode::local_inv, IBV_WR_LOCAL_INV) && same(Opcode::bind_mw, IBV_WR_BIND_MW) &&
              same(Opcode::send_with_inv, IBV_WR_SEND_WITH_INV));

static_assert(same(send_flag::kFence, IBV_SEND_FENCE) &&
              same(send_flag::kSignaled, IBV_SEND_SIGNALED) &&
              same(send_flag::kSolicited, IBV_SEND_SOLICITED) &&
              same(send_flag::kInlined, IBV_SEND_INLINE));

static_assert(same(access::kLocalWrite, IBV_ACCESS_LOCAL_WRITE) &&
              same(access::kRemoteWrite, IBV_ACCESS_REMOTE_WRITE) &&
              same(access::kRemoteRead, IBV_ACCESS_REMOTE_READ) &&
              same(access::kRemoteAtomic, IBV_ACCESS_REMOTE_ATOMIC) &&
              same(access::kMwBind, IBV_ACCESS_MW_BIND) &&
              same(access::kZeroBased, IBV_ACCESS_ZERO_BASED) &&
              same(access::kRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING));

static_assert(same(Status::success, IBV_WC_SUCCESS) &&
              same(Status::local_length, IBV_WC_LOC_LEN_ERR) &&
              same(Status::local_qp_operation, IBV_WC_LOC_QP_OP_ERR) &&
              same(Status::local_protection, IBV_WC_LOC_PROT_ERR) &&
              same(Status::flushed, IBV_WC_WR_FLUSH_ERR) &&
              same(Status::bad_response, IBV_WC_BAD_RESP_ERR) &&
              same(Status::local_access, IBV_WC_LOC_ACCESS_ERR) &&
              same(Status::remote_invalid_request, IBV_WC_REM_INV_REQ_ERR) &&
              same(Status::remote_access, IBV_WC_REM_ACCESS_ERR) &&
              same(Status::remote_operation, IBV_WC_REM_OP_ERR) &&
              same(Status::retry_exceeded, IBV_WC_RETRY_EXC_ERR) &&
              same(Status::rnr_retry_exceeded, IBV_WC_RNR_RETRY_EXC_ERR) &&
              same(Status::fatal, IBV_WC_FATAL_ERR) && same(Status::general, IBV_WC_GENERAL_ERR));

static_assert(same(done::kSend, IBV_WC_SEND) && same(done::kRdmaWrite, IBV_WC_RDMA_WRITE) &&
              same(done::kRdmaRead, IBV_WC_RDMA_READ) &&
              same(done::kCompareSwap, IBV_WC_COMP_SWAP) &&
              same(done::kFetchAdd, IBV_WC_FETCH_ADD) && same(done::kLocalInv, IBV_WC_LOCAL_INV) &&
              same(done::kReceive, IBV_WC_RECV) &&
              same(done::kReceiveRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM));

static_assert(same(done_flag::kGrh, IBV_WC_GRH) && same(done_flag::kWithImm, IBV_WC_WITH_IMM) &&
              same(done_flag::kWithInv, IBV_WC_WITH_INV));

static_assert(same(EventType::cq_error, IBV_EVENT_CQ_ERR) &&
              same(EventType::qp_fatal, IBV_EVENT_QP_FATAL) &&
              same(EventType::qp_request_error, IBV_EVENT_QP_REQ_ERR) &&
              same(EventType::qp_access_error, IBV_EVENT_QP_ACCESS_ERR) &&
              same(EventType::communication_established, IBV_EVENT_COMM_EST) &&
              same(EventType::sq_drained, IBV_EVENT_SQ_DRAINED) &&
              same(EventType::device_fatal, IBV_EVENT_DEVICE_FATAL) &&
              same(EventType::port_active, IBV_EVENT_PORT_ACTIVE) &&
              same(EventType::srq_error, IBV_EVENT_SRQ_ERR) &&
              same(EventType::srq_limit_reached, IBV_EVENT_SRQ_LIMIT_REACHED) &&
              same(EventType::last_wqe_reached, IBV_EVENT_QP_LAST_WQE_REACHED));

static_assert(
    same(attribute::kState, IBV_QP_STATE) && same(attribute::kCurrentState, IBV_QP_CUR_STATE) &&
    same(attribute::kSqdNotify, IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
    same(attribute::kAccessFlags, IBV_QP_ACCESS_FLAGS) &&
    same(attribute::kPkeyIndex, IBV_QP_PKEY_INDEX) && same(attribute::kPort, IBV_QP_PORT) &&
    same(attribute::kQkey, IBV_QP_QKEY) && same(attribute::kAv, IBV_QP_AV) &&
    same(attribute::kPathMtu, IBV_QP_PATH_MTU) && same(attribute::kTimeout, IBV_QP_TIMEOUT) &&
    same(attribute::kRetryCount, IBV_QP_RETRY_CNT) &&
    same(attribute::kRnrRetry, IBV_QP_RNR_RETRY) && same(attribute::kRqPsn, IBV_QP_RQ_PSN) &&
    same(attribute::kMaxRdAtomic, IBV_QP_MAX_QP_RD_ATOMIC) &&
    same(attribute::kAltPath, IBV_QP_ALT_PATH) &&
    same(attribute::kMinRnrTimer, IBV_QP_MIN_RNR_TIMER) && same(attribute::kSqPsn, IBV_QP_SQ_PSN) &&
    same(attribute::kMaxDestRdAtomic, IBV_QP_MAX_DEST_RD_ATOMIC) &&
    same(attribute::kPathMigState, IBV_QP_PATH_MIG_STATE) && same(attribute::kCap, IBV_QP_CAP) &&
    same(attribute::kDestQpn, IBV_QP_DEST_QPN));

static_assert(limit::kGrhBytes == sizeof(ibv_grh));

}  // namespace

}  // namespace scela::hca
