// Management queues (hca/include/scela/verbs_ext.h), for the library's own device.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "hca/core/model/calc.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/cq.h"
#include "hca/library/requests/requests.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

static_assert(SCELA_TASK_WAIT == static_cast<int>(Opcode::wait) &&
              SCELA_TASK_SEND_ENABLE == static_cast<int>(Opcode::send_enable) &&
              SCELA_TASK_RECV_ENABLE == static_cast<int>(Opcode::recv_enable) &&
              SCELA_TASK_CALC == static_cast<int>(Opcode::calc));
static_assert(SCELA_CALC_XOR == static_cast<int>(CalcOp::bit_xor) &&
              SCELA_CALC_DOUBLE == static_cast<int>(CalcType::float64));

// Returns the number of completions at which a WAIT that is posted now ends.
std::uint64_t target_of(Cq& cq, const scela_task& task) {
  const std::lock_guard lock(cq.lock);
  cq.max_wait = std::max<std::uint64_t>(cq.max_wait, task.u.wait.count);
  const std::uint64_t target = cq.wait_base + task.u.wait.count;
  if (task.u.wait.last != 0) cq.wait_base += std::exchange(cq.max_wait, 0);
  return target;
}

// Returns 0 or an errno. The base of a completion queue changes only once nothing else can be
// wrong.
int write_task(RequestQueue& queue, const scela_task& task, ibv_context* context,
               std::uint64_t at) {
  if ((task.send_flags & ~static_cast<unsigned>(IBV_SEND_SIGNALED)) != 0) return EINVAL;
  if (queue.full(at)) return ENOMEM;
  SendRequest request;
  request.wr_id = task.wr_id;
  request.opcode = static_cast<Opcode>(task.opcode);
  request.flags = task.send_flags;
  std::byte* const slot = queue.slot(at);
  switch (task.opcode) {
    case SCELA_TASK_WAIT:
      if (task.u.wait.cq == nullptr || task.u.wait.cq->context != context) return EINVAL;
      request.target = task.u.wait.cq->handle;
      request.wait_until = target_of(cq_of(task.u.wait.cq), task);
      break;
    case SCELA_TASK_SEND_ENABLE:
    case SCELA_TASK_RECV_ENABLE:
      if (task.u.enable.qp == nullptr || task.u.enable.qp->context != context) return EINVAL;
      request.target = task.u.enable.qp->handle;
      request.wait_until = task.u.enable.count;
      break;
    case SCELA_TASK_CALC:
      if (task.u.calc.num_sge < 2 || static_cast<std::uint32_t>(task.u.calc.num_sge) > queue.sges ||
          !can_calculate(static_cast<CalcOp>(task.u.calc.op),
                         static_cast<CalcType>(task.u.calc.type)))
        return EINVAL;
      request.target = static_cast<std::uint32_t>(task.u.calc.op) |
                       static_cast<std::uint32_t>(task.u.calc.type) << 8;
      request.sge_count = static_cast<std::uint32_t>(task.u.calc.num_sge);
      std::memcpy(slot + sizeof(request), task.u.calc.sg_list, request.sge_count * sizeof(Sge));
      break;
    default:
      return EINVAL;
  }
  std::memcpy(slot, &request, sizeof(request));
  return 0;
}

// Brings the queue pair to ready-to-send, connected to itself: tasks send nothing to a remote end.
int make_ready(ibv_qp* mq) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  int error = ibv_modify_qp(mq, &attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return error;
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_4096;
  attributes.dest_qp_num = mq->qp_num;
  attributes.ah_attr.dlid = context_of(mq->context).link.device().lids[0];
  attributes.ah_attr.port_num = 1;
  error = ibv_modify_qp(mq, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return error;
  attributes.qp_state = IBV_QPS_RTS;
  return ibv_modify_qp(mq, &attributes,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

}  // namespace scela::hca::library

extern "C" {

using namespace scela::hca::library;

// This device executes tasks, so for it these are the plain verbs. There is one exception. A
// program that lets the device do its work must not move bytes when it polls these queues.
ibv_cq* scela_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                        int comp_vector) {
  ibv_cq* const cq = ibv_create_cq(context, cqe, cq_context, channel, comp_vector);
  if (cq != nullptr) cq_of(cq).helps = false;
  return cq;
}

int scela_destroy_cq(ibv_cq* cq) {
  return ibv_destroy_cq(cq);
}

ibv_qp* scela_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return create_qp_ex(context, attributes);
}

int scela_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int attr_mask) {
  return ibv_modify_qp(qp, attributes, attr_mask);
}

int scela_destroy_qp(ibv_qp* qp) {
  return ibv_destroy_qp(qp);
}

int scela_post_task(ibv_qp* qp, scela_task* task, scela_task** bad_task) {
  Qp& ours = qp_of(qp);
  int error = check_send_state(ours);
  if (error != 0) {
    *bad_task = task;
    return error;
  }
  const std::lock_guard lock(ours.send.mutex);
  std::uint64_t at = ours.send.posted;
  for (; task != nullptr; task = task->next) {
    error = write_task(ours.send, *task, qp->context, at);
    if (error != 0) {
      *bad_task = task;
      break;
    }
    ++at;
  }
  ours.send.publish_sends(context_of(qp->context).link, at);
  return error;
}

ibv_qp* scela_create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t max_tasks) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = max_tasks;
  attributes.cap.max_recv_wr = 1;
  attributes.cap.max_send_sge = 4;
  attributes.cap.max_recv_sge = 1;
  ibv_qp* mq = ibv_create_qp(pd, &attributes);
  if (mq == nullptr) return nullptr;
  const int error = make_ready(mq);
  if (error == 0) return mq;
  ibv_destroy_qp(mq);
  return no<ibv_qp>(error);
}

}  // extern "C"
