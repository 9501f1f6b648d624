// Makes, changes and destroys the objects of DeviceTasks.
#include "hca/progress/device_tasks.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/core/random.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/progress/payloads.h"

namespace scela::hca::progress {
namespace {

// Unsignalled requests that may be on their way at once, for each completion queue. A larger value
// makes each device queue longer; a smaller one makes more requests wait.
constexpr int kSpare = 128;

constexpr std::uint32_t kFlags =
    SCELA_QP_CROSS_CHANNEL | SCELA_QP_MANAGED_SEND | SCELA_QP_MANAGED_RECV;

Operations operations_of(const ibv_context& context) {
  return {context.ops.poll_cq, context.ops.req_notify_cq, context.ops.post_send,
          context.ops.post_recv};
}

// No wr_id of a program is taken for one of ours, in whichever way the program counts.
std::uint64_t draw_mark(const void* where) {
  Random random(monotonic_ns() ^ reinterpret_cast<std::uintptr_t>(where));
  return random.next() << 32 | 1ULL << 63;
}

int error_number(int fallback) {
  return errno != 0 ? errno : fallback;
}

}  // namespace

DeviceTasks::DeviceTasks(ibv_context& context, const VerbsCalls& calls)
    : context_(context),
      calls_(calls),
      own_(operations_of(context)),
      mark_(draw_mark(this)),
      queues_(*this) {}

// The channel has gone with the last object, or with a context that was closed before.
DeviceTasks::~DeviceTasks() {
  stop_thread();
}

DeviceTasks::Cq* DeviceTasks::find(const ibv_cq* cq) const {
  const std::shared_lock lock(table_);
  const auto found = cqs_.find(cq);
  return found == cqs_.end() ? nullptr : found->second.get();
}

DeviceTasks::Qp* DeviceTasks::find(const ibv_qp* qp) const {
  const std::shared_lock lock(table_);
  const auto found = qps_.find(qp);
  return found == qps_.end() ? nullptr : found->second.get();
}

// Makes the descriptors that the thread sleeps on. Returns 0 or an errno.
int DeviceTasks::open() {
  if (channel_ != nullptr) return 0;
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return errno;
  errno = 0;
  ibv_comp_channel* const channel = calls_.create_comp_channel(&context_);
  if (channel == nullptr) return error_number(ENOMEM);
  if (!set_nonblocking(channel->fd)) {
    const int error = errno;
    calls_.destroy_comp_channel(channel);
    return error;
  }
  wake_ = std::move(wake);
  channel_ = channel;
  is_deaf_ = false;
  return 0;
}

int DeviceTasks::create_cq(int cqe, void* cq_context, int comp_vector, ibv_cq*& made) {
  if (cqe <= 0) return EINVAL;
  const int error = open();
  if (error != 0) return error;
  auto cq = std::make_unique<Cq>();
  errno = 0;
  made = calls_.create_cq(&context_, cqe + kSpare, cq_context, channel_, comp_vector);
  // The program asked for as many entries as the device has: some of them then are ours.
  if (made == nullptr) made = calls_.create_cq(&context_, cqe, cq_context, channel_, comp_vector);
  if (made == nullptr) return error_number(ENOMEM);
  cq->device = made;
  cq->capacity = static_cast<std::size_t>(std::max(cqe, made->cqe - kSpare));
  cq->spare = std::clamp(made->cqe - cqe, 1, kSpare);
  const Turn turn(*this);
  const std::unique_lock table(table_);
  cq->id = queues_.add_count();
  cqs_by_id_[cq->id] = cq.get();
  cqs_[made] = std::move(cq);
  return 0;
}

int DeviceTasks::destroy_cq(ibv_cq* device) {
  Cq* const cq = find(device);
  if (cq == nullptr) return calls_.destroy_cq(device);
  {
    const Turn turn(*this);
    cq->leaving = true;
  }
  // The lock is not held here: the call waits until the thread has acknowledged its events.
  const int error = calls_.destroy_cq(device);
  const Turn turn(*this);
  if (error != 0) {
    cq->leaving = false;
    if (cq->watched) wanted_ = true;
    go_on();
    return error;
  }
  queues_.remove_count(cq->id);
  std::erase(watched_, cq);
  go_on();
  const std::unique_lock table(table_);
  cqs_by_id_.erase(cq->id);
  cqs_.erase(device);
  return 0;
}

void DeviceTasks::add_qp(std::unique_ptr<Qp> qp, TaskQueues::Shape shape) {
  const Turn turn(*this);
  const std::unique_lock table(table_);
  shape.send_count = qp->send_cq == nullptr ? 0 : qp->send_cq->id;
  shape.recv_count = qp->recv_cq == nullptr ? 0 : qp->recv_cq->id;
  shape.max_receives = qp->cap.max_recv_wr;
  qp->id = queues_.add_pair(shape);
  qps_by_id_[qp->id] = qp.get();
  qps_by_number_[qp->device->qp_num] = qp.get();
  const ibv_qp* const device = qp->device;
  qps_[device] = std::move(qp);
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
  auto qp = std::make_unique<Qp>();
  qp->send_cq = find(plain.send_cq);
  qp->recv_cq = find(plain.recv_cq);
  if (qp->send_cq == nullptr || (qp->recv_cq == nullptr && plain.qp_type != IBV_QPT_XRC_SEND))
    return EINVAL;
  const int error = start_thread();
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
  TaskQueues::Shape shape;
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
  auto qp = std::make_unique<Qp>();
  qp->send_cq = qp->recv_cq = find(cq);
  if (qp->send_cq == nullptr || max_tasks == 0) return EINVAL;
  const int error = start_thread();
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
  TaskQueues::Shape shape;
  shape.max_sends = max_tasks;
  add_qp(std::move(qp), shape);
  return 0;
}

int DeviceTasks::modify_qp(ibv_qp* device, ibv_qp_attr* attributes, int mask) {
  Qp* const qp = find(device);
  if (qp == nullptr) return calls_.modify_qp(device, attributes, mask);
  const Turn turn(*this);
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
  Qp* const found = find(device);
  if (found == nullptr) return calls_.destroy_qp(device);
  std::unique_ptr<Qp> qp;
  {
    const Turn turn(*this);
    forget(*found);
    queues_.remove_pair(found->id);
    go_on();
    const std::unique_lock table(table_);
    qp = std::move(qps_.at(device));
    qps_.erase(device);
    qps_by_id_.erase(qp->id);
    qps_by_number_.erase(device->qp_num);
  }
  return calls_.destroy_qp(device);
}

bool DeviceTasks::close_if_empty() {
  bool has_queues = false;
  {
    const std::shared_lock table(table_);
    if (!qps_.empty()) return false;
    has_queues = !cqs_.empty();
  }
  stop_thread();
  if (has_queues) return false;
  if (channel_ != nullptr) calls_.destroy_comp_channel(std::exchange(channel_, nullptr));
  wake_.reset();
  return true;
}

}  // namespace scela::hca::progress
