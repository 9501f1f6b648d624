// Makes, changes and destroys objects, and passes posts and polls to the parts of DeviceTasks.
#include "hca/progress/device_tasks.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/core/random.h"
#include "common/os/clock.h"

namespace scela::hca::progress {
namespace {

// Unsignalled requests that may be on their way at once, for each completion queue. A larger value
// makes each device queue longer; a smaller one makes more requests wait.
constexpr int kSpare = 128;

// Tasks that one post or poll executes; the thread does the rest. More would make calls longer,
// fewer would leave more to the thread.
constexpr int kStepsAtOnce = 64;

constexpr std::uint32_t kFlags =
    SCELA_QP_CROSS_CHANNEL | SCELA_QP_MANAGED_SEND | SCELA_QP_MANAGED_RECV;

Operations operations_of(const ibv_context& context) {
  return {context.ops.poll_cq, context.ops.req_notify_cq, context.ops.post_send,
          context.ops.post_recv};
}

// No wr_id of a program is taken for one of ours, in whichever way the program counts.
RequestMark draw_mark(const void* where) {
  Random random(monotonic_ns() ^ reinterpret_cast<std::uintptr_t>(where));
  return RequestMark(random.next() << 32 | 1ULL << 63);
}

int error_number(int fallback) {
  return errno != 0 ? errno : fallback;
}

// Returns 0, or the errno of a post to a queue pair in this state.
int check_state(const ibv_qp& qp) {
  return qp.state == IBV_QPS_RESET || qp.state == IBV_QPS_INIT || qp.state == IBV_QPS_RTR ? EINVAL
                                                                                          : 0;
}

}  // namespace

DeviceTasks::DeviceTasks(ibv_context& context, const VerbsCalls& calls)
    : context_(context), calls_(calls), own_(operations_of(context)), mark_(draw_mark(this)) {}

int DeviceTasks::create_cq(int cqe, void* cq_context, int comp_vector, ibv_cq*& made) {
  if (cqe <= 0) return EINVAL;
  const int error = thread_.open(context_);
  if (error != 0) return error;
  auto cq = std::make_unique<TaskCq>();
  errno = 0;
  made = calls_.create_cq(&context_, cqe + kSpare, cq_context, thread_.channel(), comp_vector);
  // The program asked for as many entries as the device has: some of them then are ours.
  if (made == nullptr)
    made = calls_.create_cq(&context_, cqe, cq_context, thread_.channel(), comp_vector);
  if (made == nullptr) return error_number(ENOMEM);
  cq->device = made;
  cq->capacity = static_cast<std::size_t>(std::max(cqe, made->cqe - kSpare));
  cq->spare = std::clamp(made->cqe - cqe, 1, kSpare);
  const TaskLock::Turn turn(lock_);
  cq->id = queues_.add_count();
  objects_.add(std::move(cq));
  return 0;
}

int DeviceTasks::destroy_cq(ibv_cq* device) {
  TaskCq* const cq = objects_.find(device);
  if (cq == nullptr) return calls_.destroy_cq(device);
  {
    const TaskLock::Turn turn(lock_);
    cq->leaving = true;
  }
  // The lock is not held here: the call waits until the thread has acknowledged its events.
  const int error = calls_.destroy_cq(device);
  const TaskLock::Turn turn(lock_);
  if (error != 0) {
    cq->leaving = false;
    if (cq->watched) signal_.request();
    go_on();
    return error;
  }
  queues_.remove_count(cq->id);
  poller_.remove(*cq);
  go_on();
  objects_.remove(*cq);
  return 0;
}

void DeviceTasks::add_qp(std::unique_ptr<TaskQp> qp, TaskQueues::PairProperties shape) {
  const TaskLock::Turn turn(lock_);
  shape.send_count = qp->send_cq == nullptr ? 0 : qp->send_cq->id;
  shape.recv_count = qp->recv_cq == nullptr ? 0 : qp->recv_cq->id;
  shape.max_receives = qp->cap.max_recv_wr;
  qp->id = queues_.add_pair(shape);
  objects_.add(std::move(qp));
}

int DeviceTasks::create_qp(const ibv_qp_init_attr_ex& attributes, ibv_qp_cap& cap, ibv_qp*& made) {
  ibv_qp_init_attr_ex plain = attributes;
  const bool has_flags = (plain.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
  const std::uint32_t flags = has_flags ? plain.create_flags & kFlags : 0;
  if (has_flags) plain.create_flags &= ~kFlags;
  if (plain.create_flags == 0) plain.comp_mask &= ~std::uint32_t{IBV_QP_INIT_ATTR_CREATE_FLAGS};
  // Such requests would not pass through this class.
  if ((plain.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) return EOPNOTSUPP;
  if (plain.qp_type == IBV_QPT_XRC_RECV) return EOPNOTSUPP;
  auto qp = std::make_unique<TaskQp>();
  qp->send_cq = objects_.find(plain.send_cq);
  qp->recv_cq = objects_.find(plain.recv_cq);
  if (qp->send_cq == nullptr || (qp->recv_cq == nullptr && plain.qp_type != IBV_QPT_XRC_SEND))
    return EINVAL;
  const int error = thread_.start();
  if (error != 0) return error;
  errno = 0;
  if (plain.comp_mask == IBV_QP_INIT_ATTR_PD) {
    ibv_qp_init_attr shorter{plain.qp_context, plain.send_cq, plain.recv_cq,   plain.srq,
                             plain.cap,        plain.qp_type, plain.sq_sig_all};
    made = calls_.create_qp(plain.pd, &shorter);
    plain.cap = shorter.cap;
  } else {
    verbs_context* const extended = verbs_get_ctx_op(&context_, create_qp_ex);
    if (extended == nullptr) return EOPNOTSUPP;
    made = extended->create_qp_ex(&context_, &plain);
  }
  if (made == nullptr) return error_number(EINVAL);
  qp->device = made;
  qp->cap = cap = plain.cap;
  qp->all_signalled = plain.sq_sig_all != 0;
  TaskQueues::PairProperties shape;
  shape.holds_sends = (flags & SCELA_QP_MANAGED_SEND) != 0;
  shape.holds_receives = (flags & SCELA_QP_MANAGED_RECV) != 0;
  shape.connected = plain.qp_type == IBV_QPT_RC || plain.qp_type == IBV_QPT_XRC_SEND;
  shape.max_sends = plain.cap.max_send_wr;
  add_qp(std::move(qp), shape);
  return 0;
}

// The device's queue pair is never used. It lets the program treat the management queue like any
// other queue pair.
int DeviceTasks::create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t max_tasks, ibv_qp*& made) {
  auto qp = std::make_unique<TaskQp>();
  qp->send_cq = qp->recv_cq = objects_.find(cq);
  if (qp->send_cq == nullptr || max_tasks == 0) return EINVAL;
  const int error = thread_.start();
  if (error != 0) return error;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {1, 1, 1, 1, 0};
  errno = 0;
  made = calls_.create_qp(pd, &attributes);
  if (made == nullptr) return error_number(EINVAL);
  qp->device = made;
  qp->cap = attributes.cap;
  qp->cap.max_send_sge = 4;
  qp->manages_only = true;
  TaskQueues::PairProperties shape;
  shape.max_sends = max_tasks;
  add_qp(std::move(qp), shape);
  return 0;
}

int DeviceTasks::modify_qp(ibv_qp* device, ibv_qp_attr* attributes, int mask) {
  TaskQp* const qp = objects_.find(device);
  if (qp == nullptr) return calls_.modify_qp(device, attributes, mask);
  const TaskLock::Turn turn(lock_);
  const int error = calls_.modify_qp(device, attributes, mask);
  if (error != 0 || (mask & IBV_QP_STATE) == 0) return error;
  if (attributes->qp_state == IBV_QPS_ERR) {
    queues_.fail(qp->id);
  } else if (attributes->qp_state == IBV_QPS_RESET) {
    queues_.reset(qp->id);
    forget(*qp);
  } else if (attributes->qp_state == IBV_QPS_RTS) {
    queues_.recover(qp->id);
  }
  go_on();
  return 0;
}

int DeviceTasks::destroy_qp(ibv_qp* device) {
  TaskQp* const found = objects_.find(device);
  if (found == nullptr) return calls_.destroy_qp(device);
  std::unique_ptr<TaskQp> qp;
  {
    const TaskLock::Turn turn(lock_);
    forget(*found);
    queues_.remove_pair(found->id);
    go_on();
    qp = objects_.remove(*found);
  }
  return calls_.destroy_qp(device);
}

bool DeviceTasks::close_if_empty() {
  if (objects_.has_qps()) return false;
  const bool has_queues = objects_.has_cqs();
  thread_.stop();
  if (has_queues) return false;
  thread_.close();
  return true;
}

// After this no result is written for a queue pair that is gone, and the program gets none of its
// completions.
void DeviceTasks::forget(TaskQp& qp) {
  calculations_.drop(qp.id, lock_.mutex());
  poller_.forget(qp);
}

void DeviceTasks::go_on() {
  if (queues_.run(kStepsAtOnce)) signal_.request();
  signal_.wake_if_requested();
}

int DeviceTasks::post_send(ibv_qp* device, ibv_send_wr* request, ibv_send_wr** bad) {
  TaskQp* const qp = objects_.find(device);
  if (qp == nullptr) return own_.post_send(device, request, bad);
  const TaskLock::Turn turn(lock_);
  int error = check_state(*device);
  for (; error == 0 && request != nullptr; request = request->next) {
    error = requests_.accept_send(*qp, *request);
    if (error != 0) break;
  }
  if (error != 0) *bad = request;
  go_on();
  return error;
}

int DeviceTasks::post_recv(ibv_qp* device, ibv_recv_wr* request, ibv_recv_wr** bad) {
  TaskQp* const qp = objects_.find(device);
  if (qp == nullptr) return own_.post_recv(device, request, bad);
  const TaskLock::Turn turn(lock_);
  for (; request != nullptr; request = request->next) {
    const int error = requests_.accept_receive(*qp, *request);
    if (error == 0) continue;
    *bad = request;
    go_on();
    return error;
  }
  go_on();
  return 0;
}

int DeviceTasks::post_task(ibv_qp* device, scela_task* task, scela_task** bad) {
  TaskQp* const qp = objects_.find(device);
  if (qp == nullptr) {
    *bad = task;
    return EINVAL;
  }
  const TaskLock::Turn turn(lock_);
  int error = qp->manages_only ? 0 : check_state(*device);
  for (; error == 0 && task != nullptr; task = task->next) {
    error = requests_.accept_task(*qp, *task);
    if (error != 0) break;
  }
  if (error != 0) *bad = task;
  go_on();
  return error;
}

int DeviceTasks::poll_cq(ibv_cq* device, int count, ibv_wc* completions) {
  TaskCq* const cq = objects_.find(device);
  if (cq == nullptr) return own_.poll_cq(device, count, completions);
  bool is_thread_at_work = false;
  int filled = 0;
  {
    const TaskLock::Turn turn(lock_);
    if (cq->ready.size() < static_cast<std::size_t>(std::max(count, 0))) {
      poller_.look(*cq);
      go_on();
    }
    if (cq->ready.empty() && count > 0) {
      poller_.look_around();
      go_on();
      poller_.look(*cq);
    }
    for (; filled < count && !cq->ready.empty(); ++filled) {
      completions[filled] = cq->ready.front();
      cq->ready.pop_front();
    }
    if (filled == 0 && count > 0 && cq->broken) {
      errno = EIO;
      return -1;
    }
    is_thread_at_work = !calculations_.empty();
  }
  if (filled == 0 && is_thread_at_work) ::sched_yield();
  return filled;
}

// There is no completion channel, so there is no event to ask for.
int DeviceTasks::req_notify_cq(ibv_cq* device, int solicited_only) {
  return objects_.find(device) == nullptr ? own_.req_notify_cq(device, solicited_only) : 0;
}

}  // namespace scela::hca::progress
