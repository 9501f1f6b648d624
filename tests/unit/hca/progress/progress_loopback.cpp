#include "tests/unit/hca/progress/progress_loopback.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

namespace scela::hca::test {

Loopback::Loopback() {
  verbs_.sz = sizeof verbs_;
  ibv_context& context = verbs_.context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_recv;
  context.device = reinterpret_cast<ibv_device*>(this);  // where of() finds it
  pd_.context = &context;
}

Loopback::~Loopback() = default;

Loopback& Loopback::of(const ibv_context* context) {
  return *reinterpret_cast<Loopback*>(context->device);
}

progress::VerbsCalls Loopback::calls() {
  return {create_channel, destroy_channel, get_event, ack_events, create_cq,
          destroy_cq,     create_qp,       modify_qp, destroy_qp};
}

void Loopback::connect(ibv_qp* a, ibv_qp* b) {
  static_cast<Qp*>(a)->peer = static_cast<Qp*>(b);
  static_cast<Qp*>(b)->peer = static_cast<Qp*>(a);
}

int Loopback::polls(const ibv_cq* cq) {
  return static_cast<const Cq*>(cq)->polls;
}
std::size_t Loopback::max_held(const ibv_cq* cq) {
  const std::lock_guard lock(of(cq->context).mutex_);
  return static_cast<const Cq*>(cq)->most;
}

bool Loopback::is_armed(const ibv_cq* cq) {
  const std::lock_guard lock(of(cq->context).mutex_);
  return static_cast<const Cq*>(cq)->armed;
}

void Loopback::complete(ibv_cq* shown, ibv_wc wc) {
  Cq& cq = *static_cast<Cq*>(shown);
  cq.ready.push_back(wc);
  cq.most = std::max(cq.most, cq.ready.size());
  Loopback& device = of(cq.context);
  if (!std::exchange(cq.armed, false) || !device.tells) return;
  [[maybe_unused]] const ssize_t put = ::write(device.told_, &shown, sizeof shown);
}

void Loopback::send_done(Qp& qp, const ibv_send_wr& request, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = request.wr_id;
  wc.status = status;
  wc.opcode = IBV_WC_SEND;
  wc.qp_num = qp.qp_num;
  if ((request.send_flags & IBV_SEND_SIGNALED) != 0 || status != IBV_WC_SUCCESS)
    complete(qp.send_cq, wc);
  if (status != IBV_WC_SUCCESS) qp.state = IBV_QPS_ERR;
}

void Loopback::match(Qp& qp) {
  while (!qp.unmatched.empty() && qp.peer != nullptr && !qp.peer->receives.empty()) {
    ibv_wc wc{};
    wc.wr_id = qp.peer->receives.front();
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = qp.peer->qp_num;
    qp.peer->receives.pop_front();
    complete(qp.peer->recv_cq, wc);
    send_done(qp, qp.unmatched.front(), IBV_WC_SUCCESS);
    qp.unmatched.pop_front();
  }
}

ibv_comp_channel* Loopback::create_channel(ibv_context* context) {
  auto ends = make_pipe();
  if (!ends) return nullptr;
  of(context).told_ = ends->write.release();
  ++of(context).objects_;
  return new ibv_comp_channel{context, ends->read.release(), 0};
}

int Loopback::destroy_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  ::close(of(channel->context).told_);
  --of(channel->context).objects_;
  delete channel;
  return 0;
}

int Loopback::get_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (::read(channel->fd, cq, sizeof *cq) != sizeof *cq) return -1;
  *cq_context = nullptr;
  return 0;
}

void Loopback::ack_events(ibv_cq*, unsigned) {}

ibv_cq* Loopback::create_cq(ibv_context* context, int cqe, void* cq_context,
                            ibv_comp_channel* channel, int) {
  auto cq = std::make_unique<Cq>();
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = cqe;
  ++of(context).objects_;
  return cq.release();
}

int Loopback::destroy_cq(ibv_cq* cq) {
  Loopback& device = of(cq->context);
  const std::lock_guard lock(device.mutex_);
  for (const auto& [number, qp] : device.qps_)
    if (qp->send_cq == cq || qp->recv_cq == cq) return EBUSY;
  --device.objects_;
  delete static_cast<Cq*>(cq);
  return 0;
}

ibv_qp* Loopback::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  Loopback& device = of(pd->context);
  auto qp = std::make_unique<Qp>();
  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = attributes->send_cq;
  qp->recv_cq = attributes->recv_cq;
  qp->qp_type = attributes->qp_type;
  qp->depth = attributes->cap.max_send_wr;
  qp->state = IBV_QPS_RTS;
  const std::lock_guard lock(device.mutex_);
  qp->qp_num = device.next_number_++;
  device.qps_[qp->qp_num] = qp.get();
  ++device.objects_;
  return qp.release();
}

int Loopback::modify_qp(ibv_qp* shown, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard lock(of(shown->context).mutex_);
  if ((mask & IBV_QP_STATE) == 0) return EINVAL;
  Qp& qp = *static_cast<Qp*>(shown);
  qp.state = attributes->qp_state;
  if (qp.state == IBV_QPS_ERR) {
    for (const ibv_send_wr& request : qp.unmatched)
      send_done(qp, request, IBV_WC_WR_FLUSH_ERR);
    for (const std::uint64_t id : qp.receives) {
      ibv_wc wc{};
      wc.wr_id = id;
      wc.status = IBV_WC_WR_FLUSH_ERR;
      wc.opcode = IBV_WC_RECV;
      wc.qp_num = qp.qp_num;
      complete(qp.recv_cq, wc);
    }
  }
  qp.unmatched.clear();
  qp.receives.clear();
  return 0;
}

int Loopback::destroy_qp(ibv_qp* qp) {
  Loopback& device = of(qp->context);
  const std::lock_guard lock(device.mutex_);
  device.qps_.erase(qp->qp_num);
  for (const auto& [number, other] : device.qps_)
    if (other->peer == qp) other->peer = nullptr;
  --device.objects_;
  delete static_cast<Qp*>(qp);
  return 0;
}

int Loopback::poll_cq(ibv_cq* shown, int count, ibv_wc* completions) {
  Cq& cq = *static_cast<Cq*>(shown);
  Loopback& device = of(cq.context);
  const std::lock_guard lock(device.mutex_);
  ++cq.polls;
  int filled = 0;
  for (; filled < count && !cq.ready.empty(); ++filled) {
    completions[filled] = cq.ready.front();
    cq.ready.pop_front();
    const auto qp = device.qps_.find(completions[filled].qp_num);
    if (qp != device.qps_.end() && completions[filled].opcode != IBV_WC_RECV)
      --qp->second->unpolled;
  }
  return filled;
}

int Loopback::req_notify_cq(ibv_cq* cq, int) {
  Loopback& device = of(cq->context);
  if (const auto now = std::exchange(device.when_asked_to_tell, nullptr)) now();
  if (!device.tells) return EIO;
  const std::lock_guard lock(device.mutex_);
  static_cast<Cq*>(cq)->armed = true;
  return 0;
}

int Loopback::post_send(ibv_qp* shown, ibv_send_wr* request, ibv_send_wr** bad) {
  Loopback& device = of(shown->context);
  const std::lock_guard lock(device.mutex_);
  Qp& qp = *static_cast<Qp*>(shown);
  *bad = request;
  if (device.refuses_sends) return EINVAL;
  if (qp.unpolled >= qp.depth) return ENOMEM;
  ++qp.unpolled;
  const int status = device.next_status.exchange(IBV_WC_SUCCESS);
  if (status != IBV_WC_SUCCESS || qp.state == IBV_QPS_ERR) {
    send_done(qp, *request,
              qp.state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : static_cast<ibv_wc_status>(status));
    return 0;
  }
  qp.unmatched.push_back(*request);
  match(qp);
  return 0;
}

int Loopback::post_recv(ibv_qp* shown, ibv_recv_wr* request, ibv_recv_wr**) {
  const std::lock_guard lock(of(shown->context).mutex_);
  Qp& qp = *static_cast<Qp*>(shown);
  qp.receives.push_back(request->wr_id);
  if (qp.peer != nullptr) match(*qp.peer);
  return 0;
}

}  // namespace scela::hca::test
