// Requests and tasks that a program posts. They go to the device at once, or wait in memory until
// their turn comes.
#include "hca/progress/device_requests.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "hca/progress/payloads.h"

namespace scela::hca::progress {
namespace {

// Operand bytes that a post or a poll itself calculates. Larger calculations are left to the
// thread, so that no post or poll takes long.
constexpr std::uint64_t kBytesAtOnce = 16384;

bool is_inline(const ibv_send_wr& request) {
  return (request.send_flags & IBV_SEND_INLINE) != 0;
}

std::uint64_t bytes_of(const ibv_send_wr& request) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < request.num_sge; ++i)
    bytes += request.sg_list[i].length;
  return bytes;
}

int opcode_of(const Entry& entry, const ibv_send_wr* request) {
  switch (entry.kind) {
    case Kind::wait:
      return SCELA_TASK_WAIT;
    case Kind::enable_send:
      return SCELA_TASK_SEND_ENABLE;
    case Kind::enable_receive:
      return SCELA_TASK_RECV_ENABLE;
    case Kind::calc:
      return SCELA_TASK_CALC;
    case Kind::request:
      break;
  }
  switch (request == nullptr ? IBV_WR_SEND : request->opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace

// Looks at the device if the queue is full: it may have completed requests that were not polled
// yet.
bool DeviceRequests::make_room(TaskQp& qp) {
  return work_.queues.has_room_to_send(qp.id) ||
         (work_.poller.look(*qp.send_cq) && work_.queues.has_room_to_send(qp.id));
}

// Returns 0 or an errno.
int DeviceRequests::accept_send(TaskQp& qp, const ibv_send_wr& request) {
  if (qp.manages_only || request.num_sge < 0 ||
      static_cast<std::uint32_t>(request.num_sge) > qp.cap.max_send_sge ||
      request.opcode == IBV_WR_BIND_MW || request.opcode == IBV_WR_TSO)
    return EINVAL;
  if (is_inline(request) && bytes_of(request) > qp.cap.max_inline_data) return EINVAL;
  if (!make_room(qp)) return ENOMEM;
  Entry entry;
  entry.wr_id = request.wr_id;
  entry.signalled = qp.all_signalled || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (work_.queues.may_send_now(qp.id)) {
    const int error = post_to_device(qp, request, work_.queues.next_serial(qp.id), entry.signalled);
    if (error == 0) {
      work_.queues.sent_now(qp.id, std::move(entry));
      return 0;
    }
    if (error != ENOMEM) return error;
  }
  auto payload = std::make_unique<SendPayload>();
  payload->request = request;
  if (is_inline(request)) {
    for (int i = 0; i < request.num_sge; ++i) {
      const auto* from = reinterpret_cast<const std::byte*>(request.sg_list[i].addr);
      payload->data.insert(payload->data.end(), from, from + request.sg_list[i].length);
    }
    payload->pieces = {{reinterpret_cast<std::uint64_t>(payload->data.data()),
                        static_cast<std::uint32_t>(payload->data.size()), 0}};
  } else {
    payload->pieces.assign(request.sg_list, request.sg_list + request.num_sge);
  }
  payload->request.sg_list = payload->pieces.data();
  payload->request.num_sge = static_cast<int>(payload->pieces.size());
  entry.payload = std::move(payload);
  return work_.queues.post_send(qp.id, std::move(entry)) ? 0 : ENOMEM;
}

int DeviceRequests::accept_receive(TaskQp& qp, const ibv_recv_wr& request) {
  if (qp.manages_only || qp.device->srq != nullptr || request.num_sge < 0 ||
      static_cast<std::uint32_t>(request.num_sge) > qp.cap.max_recv_sge ||
      qp.device->state == IBV_QPS_RESET)
    return EINVAL;
  if (work_.queues.may_receive_now(qp.id)) {
    ibv_recv_wr one = request, *bad = nullptr;
    one.next = nullptr;
    const int error = device_.operations.post_recv(qp.device, &one, &bad);
    if (error == 0) work_.queues.received_now(qp.id);
    return error;
  }
  auto payload = std::make_unique<ReceivePayload>();
  payload->request = request;
  payload->request.next = nullptr;
  payload->pieces.assign(request.sg_list, request.sg_list + request.num_sge);
  payload->request.sg_list = payload->pieces.data();
  Entry entry;
  entry.wr_id = request.wr_id;
  entry.signalled = true;
  entry.payload = std::move(payload);
  return work_.queues.post_receive(qp.id, std::move(entry)) ? 0 : ENOMEM;
}

int DeviceRequests::accept_task(TaskQp& qp, const scela_task& task) {
  if ((task.send_flags & ~static_cast<unsigned>(IBV_SEND_SIGNALED)) != 0) return EINVAL;
  if (!make_room(qp)) return ENOMEM;
  Entry entry;
  entry.wr_id = task.wr_id;
  entry.signalled = qp.all_signalled || (task.send_flags & IBV_SEND_SIGNALED) != 0;
  const int error = fill(qp, task, entry);
  if (error != 0) return error;
  work_.queues.post_send(qp.id, std::move(entry));
  return 0;
}

// The base of a completion queue changes only once nothing else in the task can be wrong.
int DeviceRequests::fill(const TaskQp& qp, const scela_task& task, Entry& entry) {
  switch (task.opcode) {
    case SCELA_TASK_WAIT: {
      const TaskCq* const cq = work_.objects.find(task.u.wait.cq);
      if (cq == nullptr) return EINVAL;
      entry.kind = Kind::wait;
      entry.target = cq->id;
      entry.count = work_.queues.claim(cq->id, task.u.wait.count, task.u.wait.last != 0);
      return 0;
    }
    case SCELA_TASK_SEND_ENABLE:
    case SCELA_TASK_RECV_ENABLE: {
      const ibv_qp* const target = task.u.enable.qp;
      if (target == nullptr || target->context != &device_.context) return EINVAL;
      const TaskQp* const ours = work_.objects.find(target);
      entry.kind = task.opcode == SCELA_TASK_SEND_ENABLE ? Kind::enable_send : Kind::enable_receive;
      entry.target = ours == nullptr ? 0 : ours->id;
      entry.count = task.u.enable.count;
      return 0;
    }
    case SCELA_TASK_CALC: {
      auto payload = std::make_unique<CalcPayload>();
      payload->op = static_cast<CalcOp>(task.u.calc.op);
      payload->type = static_cast<CalcType>(task.u.calc.type);
      const int pieces = task.u.calc.num_sge;
      if (pieces < 2 || static_cast<std::uint32_t>(pieces) > qp.cap.max_send_sge ||
          !can_calculate(payload->op, payload->type))
        return EINVAL;
      payload->pieces.assign(task.u.calc.sg_list, task.u.calc.sg_list + pieces);
      entry.kind = Kind::calc;
      entry.payload = std::move(payload);
      return 0;
    }
  }
  return EINVAL;
}

// Every request asks the device for a completion, so that its end is known. A completion that the
// program did not ask for goes no further. Returns ENOMEM if the device cannot take the request
// now.
int DeviceRequests::post_to_device(TaskQp& qp, ibv_send_wr request, std::uint64_t serial,
                                   bool signalled) {
  TaskCq& cq = *qp.send_cq;
  if (!signalled && cq.unsignalled >= cq.spare) return ENOMEM;
  request.next = nullptr;
  request.wr_id = device_.mark.wr_id(serial);
  request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  const int error = device_.operations.post_send(qp.device, &request, &bad);
  if (error != 0 || signalled) return error;
  ++cq.unsignalled;
  ++qp.unsignalled;
  return 0;
}

Host::Posted DeviceRequests::post_send(PairId pair, const Entry& entry) {
  TaskQp& qp = work_.objects.qp(pair);
  const auto& payload = static_cast<const SendPayload&>(*entry.payload);
  const int error = post_to_device(qp, payload.request, entry.serial, entry.signalled);
  if (error == 0) return Posted::yes;
  // If no request is on its way, no completion would ever make room.
  const bool comes = work_.queues.oldest_in_flight(pair) != nullptr || qp.send_cq->unsignalled > 0;
  return error == ENOMEM && comes ? Posted::full : Posted::refused;
}

Host::Posted DeviceRequests::post_receive(PairId pair, const Entry& entry) {
  ibv_recv_wr request = static_cast<const ReceivePayload&>(*entry.payload).request, *bad = nullptr;
  const int error = device_.operations.post_recv(work_.objects.qp(pair).device, &request, &bad);
  if (error == 0) return Posted::yes;
  return error == ENOMEM ? Posted::full : Posted::refused;
}

std::optional<Status> DeviceRequests::calculate(PairId pair, const Entry& entry) {
  const auto& payload = static_cast<const CalcPayload&>(*entry.payload);
  if (payload.pieces[0].length * payload.pieces.size() <= kBytesAtOnce)
    return calculate_here(payload.op, payload.type, payload.pieces);
  work_.calculations.push(pair, entry.serial, payload);
  work_.signal.request();
  return std::nullopt;
}

bool DeviceRequests::complete(CountId count, PairId pair, const Entry& entry, bool receives) {
  TaskCq& cq = work_.objects.cq(count);
  ibv_wc wc{};
  if (const ibv_wc* const current = work_.poller.current()) {
    // The entry is the one that the device completes now, or a task behind it that can now
    // complete.
    const bool is_it = !receives && entry.kind == Kind::request && entry.done &&
                       current->wr_id == device_.mark.wr_id(entry.serial) &&
                       current->qp_num == work_.objects.qp(pair).device->qp_num;
    if (is_it) wc = *current;
  }
  wc.wr_id = entry.wr_id;
  wc.status = static_cast<ibv_wc_status>(entry.status);
  wc.qp_num = work_.objects.qp(pair).device->qp_num;
  const auto* request = entry.kind == Kind::request && !receives && entry.payload != nullptr
                            ? &static_cast<const SendPayload&>(*entry.payload).request
                            : nullptr;
  if (receives)
    wc.opcode = IBV_WC_RECV;
  else if (entry.kind != Kind::request || entry.status != Status::success)
    wc.opcode = static_cast<ibv_wc_opcode>(opcode_of(entry, request));
  return work_.poller.put(cq, wc);
}

// Sets the device's queue pair to the error state, so that the remote end finds out and a query
// reports it.
void DeviceRequests::broken(PairId pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  device_.calls.modify_qp(work_.objects.qp(pair).device, &attributes, IBV_QP_STATE);
}

void DeviceRequests::watch(CountId count, bool wanted) {
  TaskCq* const cq = work_.objects.find_cq(count);
  if (cq == nullptr) return;
  work_.poller.watch(*cq, wanted);
  if (wanted && !cq->armed) work_.signal.request();
}

}  // namespace scela::hca::progress
