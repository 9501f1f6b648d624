// Makes, opens and destroys queue pairs. qp_attributes.cpp changes their state.
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/objects/srq.h"
#include "hca/library/requests/requests.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

constexpr std::uint32_t handle_of(const ibv_cq* cq) {
  return cq == nullptr ? 0 : cq->handle;
}

void show(Qp& qp, ibv_context* context, const ibv_qp_init_attr_ex& attributes,
          const Answer& answer) {
  ibv_qp& base = qp.qp_base;
  base.context = context;
  base.qp_context = attributes.qp_context;
  base.pd = attributes.pd;
  base.send_cq = attributes.send_cq;
  base.recv_cq = attributes.recv_cq;
  base.srq = attributes.srq;
  base.handle = answer.handle;
  base.qp_num = answer.number;
  base.state = IBV_QPS_RESET;
  base.qp_type = attributes.qp_type;
  ::pthread_mutex_init(&base.mutex, nullptr);
  ::pthread_cond_init(&base.cond, nullptr);
}

std::uint64_t new_cookie(Table& table) {
  const std::unique_lock lock(table.mutex);
  return table.next_cookie++;
}

void enter(Table& table, Qp& qp) {
  const std::unique_lock lock(table.mutex);
  // An XRC_RECV queue pair has no queues, and may be open several times.
  if (qp.type != QpType::xrc_recv) table.qps[qp.qp_base.handle] = &qp;
  table.qps_by_cookie[qp.cookie] = &qp;
}

// Checks what the kernel checks before it calls a driver. Returns 0 or an errno.
int check(const ibv_qp_init_attr_ex& attributes) {
  switch (attributes.qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
      if (attributes.pd == nullptr || attributes.send_cq == nullptr ||
          attributes.recv_cq == nullptr) {
        return EINVAL;
      }
      return 0;
    case IBV_QPT_XRC_SEND:
      return attributes.pd == nullptr || attributes.send_cq == nullptr ? EINVAL : 0;
    case IBV_QPT_XRC_RECV:
      return attributes.xrcd == nullptr ? EINVAL : 0;
    default:
      return EOPNOTSUPP;
  }
}

bool map_queues(Qp& qp, EngineLink& link, const Answer& answer) {
  qp.send.capacity = answer.cap.send_requests;
  qp.send.sges = answer.cap.send_sges;
  qp.send.inline_bytes = answer.cap.inline_bytes;
  qp.send.doorbell = answer.send_doorbell;
  qp.recv.capacity = answer.cap.recv_requests;
  qp.recv.sges = answer.cap.recv_sges;
  qp.recv.doorbell = answer.recv_doorbell;
  return qp.send.map(link, answer.send, answer.send_slots, answer.send_stride,
                     sizeof(SendRequest)) &&
         qp.recv.map(link, answer.recv, answer.recv_slots, answer.recv_stride, sizeof(RecvRequest));
}

Qp* make_qp(ibv_context* context, ibv_qp_init_attr_ex& attributes) {
  const int wrong = check(attributes);
  if (wrong != 0) return no<Qp>(wrong);
  Context& ours = context_of(context);
  auto made = std::make_unique<Qp>();
  made->type = static_cast<QpType>(attributes.qp_type);
  const bool receives_itself =
      attributes.srq == nullptr && made->type != QpType::xrc_send && made->type != QpType::xrc_recv;
  Ask ask;
  ask.operation = Operation::create_qp;
  ask.pd = attributes.pd == nullptr ? 0 : attributes.pd->handle;
  ask.send_cq = made->type == QpType::xrc_recv ? 0 : handle_of(attributes.send_cq);
  ask.recv_cq = made->type == QpType::xrc_recv || made->type == QpType::xrc_send
                    ? 0
                    : handle_of(attributes.recv_cq);
  ask.srq = attributes.srq == nullptr ? 0 : attributes.srq->handle;
  ask.xrcd = attributes.xrcd == nullptr ? 0 : xrcd_of(attributes.xrcd).handle;
  ask.qp_type = made->type;
  if (made->type != QpType::xrc_recv) {
    ask.cap.send_requests = attributes.cap.max_send_wr;
    ask.cap.send_sges = attributes.cap.max_send_sge;
    ask.cap.inline_bytes = attributes.cap.max_inline_data;
  }
  if (receives_itself) {
    ask.cap.recv_requests = attributes.cap.max_recv_wr;
    ask.cap.recv_sges = attributes.cap.max_recv_sge;
  }
  ask.signal_all = attributes.sq_sig_all != 0 ? 1 : 0;
  if ((attributes.create_flags & SCELA_QP_MANAGED_SEND) != 0)
    ask.create_flags |= create_flag::kManagedSend;
  if ((attributes.create_flags & SCELA_QP_MANAGED_RECV) != 0)
    ask.create_flags |= create_flag::kManagedRecv;
  made->cookie = new_cookie(ours.table);
  ask.cookie = made->cookie;
  const Answer answer = ours.link.ask(ask);
  if (answer.error != 0) return no<Qp>(static_cast<int>(answer.error));
  if (!map_queues(*made, ours.link, answer)) return no<Qp>(EPROTO);
  made->send.held = (ask.create_flags & create_flag::kManagedSend) != 0;
  show(*made, context, attributes, answer);
  attributes.cap = {answer.cap.send_requests, answer.cap.recv_requests, answer.cap.send_sges,
                    answer.cap.recv_sges, answer.cap.inline_bytes};
  made->made_with = {attributes.qp_context, attributes.send_cq, attributes.recv_cq,
                     attributes.srq,        attributes.cap,     attributes.qp_type,
                     attributes.sq_sig_all};
  enter(ours.table, *made);
  return made.release();
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return guarded([&]() -> ibv_qp* {
    constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                     IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const std::uint32_t mask = attributes->comp_mask;
    if ((mask & ~kKnown) != 0) return no<ibv_qp>(EOPNOTSUPP);
    ibv_qp_init_attr_ex made_of = *attributes;
    if ((mask & IBV_QP_INIT_ATTR_PD) == 0) made_of.pd = nullptr;
    if ((mask & IBV_QP_INIT_ATTR_XRCD) == 0) made_of.xrcd = nullptr;
    if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) == 0) made_of.create_flags = 0;
    constexpr std::uint32_t kManaged = SCELA_QP_MANAGED_SEND | SCELA_QP_MANAGED_RECV;
    if ((made_of.create_flags & ~(kManaged | SCELA_QP_CROSS_CHANNEL)) != 0)
      return no<ibv_qp>(EOPNOTSUPP);
    const bool extended = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (extended) {
      Qp probe;
      probe.type = static_cast<QpType>(made_of.qp_type);
      const int error = offer_work_requests(probe, made_of.send_ops_flags);
      if (error != 0) return no<ibv_qp>(error);
    }
    Qp* const made = make_qp(context, made_of);
    if (made == nullptr) return nullptr;
    if (extended) {
      offer_work_requests(*made, made_of.send_ops_flags);
      made->extended = true;
    }
    attributes->cap = made_of.cap;
    return &made->qp_base;
  });
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  return guarded([&]() -> ibv_qp* {
    constexpr std::uint32_t kNeeded =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    const std::uint32_t mask = attributes->comp_mask;
    if ((mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) != 0) return no<ibv_qp>(EOPNOTSUPP);
    if ((mask & kNeeded) != kNeeded || attributes->xrcd == nullptr) return no<ibv_qp>(EINVAL);
    Context& ours = context_of(context);
    auto made = std::make_unique<Qp>();
    made->type = static_cast<QpType>(attributes->qp_type);
    made->cookie = new_cookie(ours.table);
    Ask ask;
    ask.operation = Operation::open_qp;
    ask.number = attributes->qp_num;
    ask.xrcd = xrcd_of(attributes->xrcd).handle;
    ask.qp_type = made->type;
    ask.cookie = made->cookie;
    const Answer answer = ours.link.ask(ask);
    if (answer.error != 0) return no<ibv_qp>(static_cast<int>(answer.error));
    ibv_qp_init_attr_ex shown{};
    shown.qp_context = (mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? attributes->qp_context : nullptr;
    shown.qp_type = attributes->qp_type;
    show(*made, context, shown, answer);
    made->made_with.qp_context = shown.qp_context;
    made->made_with.qp_type = shown.qp_type;
    enter(ours.table, *made);
    return &made.release()->qp_base;
  });
}

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  return guarded([&]() -> ibv_qp* {
    ibv_qp_init_attr_ex all{};
    // The longer structure begins with the shorter one.
    std::memcpy(&all, qp_init_attr, sizeof(*qp_init_attr));
    all.pd = pd;
    Qp* const made = make_qp(pd->context, all);
    if (made == nullptr) return nullptr;
    qp_init_attr->cap = all.cap;
    return &made->qp_base;
  });
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return qp_of(qp).extended ? &qp_of(qp) : nullptr;
}

int ibv_destroy_qp(ibv_qp* qp) {
  return guarded([&]() -> int {
    Qp& ours = qp_of(qp);
    Context& context = context_of(qp->context);
    Ask ask;
    ask.operation = Operation::destroy_qp;
    ask.handle = qp->handle;
    const Answer answer = context.link.ask(ask);
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    {
      const std::unique_lock lock(context.table.mutex);
      const auto found = context.table.qps.find(qp->handle);
      // The engine may have given the number to another queue pair by now.
      if (found != context.table.qps.end() && found->second == &ours) {
        context.table.qps.erase(found);
      }
      context.table.qps_by_cookie.erase(ours.cookie);
    }
    forget_in(qp->send_cq, ours);
    if (qp->recv_cq != qp->send_cq) forget_in(qp->recv_cq, ours);
    ::pthread_mutex_lock(&qp->mutex);
    while (qp->events_completed != ours.async_events)
      ::pthread_cond_wait(&qp->cond, &qp->mutex);
    ::pthread_mutex_unlock(&qp->mutex);
    ::pthread_mutex_destroy(&qp->mutex);
    ::pthread_cond_destroy(&qp->cond);
    context.link.release(ours.send.region);
    context.link.release(ours.recv.region);
    delete &ours;
    return 0;
  });
}

int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
  return 0;  // data may come in any order
}

int ibv_set_ece(ibv_qp*, ibv_ece*) {
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

int ibv_query_ece(ibv_qp*, ibv_ece*) {
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // extern "C"
