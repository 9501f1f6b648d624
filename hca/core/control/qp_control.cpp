#include "hca/core/control/qp_control.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hca/core/control/ring_memory.h"
#include "hca/core/model/qp_states.h"

namespace scela::hca {
namespace {

// Returns whether the values of the attributes that `mask` names are in range.
bool sensible(const QpAttributes& value, std::uint32_t mask) {
  const auto named = [mask](std::uint32_t attribute) { return (mask & attribute) != 0; };
  return !((named(attribute::kPort) && (value.port < 1 || value.port > limit::kPorts)) ||
           (named(attribute::kPkeyIndex) && value.pkey_index >= limit::kPkeys) ||
           (named(attribute::kPathMtu) && (value.path_mtu < 1 || value.path_mtu > 5)) ||
           (named(attribute::kTimeout) && value.timeout > 31) ||
           (named(attribute::kRetryCount) && value.retry_count > 7) ||
           (named(attribute::kRnrRetry) && value.rnr_retry > 7) ||
           (named(attribute::kMinRnrTimer) && value.min_rnr_timer > 31) ||
           (named(attribute::kMaxRdAtomic) && value.max_rd_atomic > limit::kRdAtomic) ||
           (named(attribute::kMaxDestRdAtomic) && value.max_dest_rd_atomic > limit::kRdAtomic) ||
           (named(attribute::kAv) && value.is_global != 0 && value.sgid_index >= limit::kGids));
}

void apply(const QpAttributes& from, std::uint32_t mask, QpAttributes& to) {
  const auto named = [mask](std::uint32_t attribute) { return (mask & attribute) != 0; };
  if (named(attribute::kPkeyIndex)) to.pkey_index = from.pkey_index;
  if (named(attribute::kPort)) to.port = from.port;
  if (named(attribute::kQkey)) to.qkey = from.qkey;
  if (named(attribute::kAccessFlags)) to.access_flags = from.access_flags;
  if (named(attribute::kPathMtu)) to.path_mtu = from.path_mtu;
  if (named(attribute::kDestQpn)) to.dest_qpn = from.dest_qpn & 0xFFFFFF;
  if (named(attribute::kRqPsn)) to.rq_psn = from.rq_psn & 0xFFFFFF;
  if (named(attribute::kSqPsn)) to.sq_psn = from.sq_psn & 0xFFFFFF;
  if (named(attribute::kTimeout)) to.timeout = from.timeout;
  if (named(attribute::kRetryCount)) to.retry_count = from.retry_count;
  if (named(attribute::kRnrRetry)) to.rnr_retry = from.rnr_retry;
  if (named(attribute::kMinRnrTimer)) to.min_rnr_timer = from.min_rnr_timer;
  if (named(attribute::kMaxRdAtomic)) to.max_rd_atomic = from.max_rd_atomic;
  if (named(attribute::kMaxDestRdAtomic)) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  if (named(attribute::kPathMigState)) to.path_mig_state = from.path_mig_state;
  if (named(attribute::kSqdNotify)) to.sqd_notify = from.sqd_notify;
  if (named(attribute::kAv)) {
    to.dgid = from.dgid;
    to.flow_label = from.flow_label;
    to.dlid = from.dlid;
    to.is_global = from.is_global;
    to.sgid_index = from.sgid_index;
    to.hop_limit = from.hop_limit;
    to.traffic_class = from.traffic_class;
    to.sl = from.sl;
    to.src_path_bits = from.src_path_bits;
    to.static_rate = from.static_rate;
    to.ah_port = from.ah_port;
  }
}

}  // namespace

int QpControl::check_create(ProcessId process, const Ask& ask) const {
  const bool sends = ask.qp_type != QpType::xrc_recv;
  const bool receives = sends && ask.qp_type != QpType::xrc_send;
  switch (ask.qp_type) {
    case QpType::rc:
    case QpType::uc:
    case QpType::ud:
      break;
    case QpType::xrc_send:
    case QpType::xrc_recv:
      if (!settings_.xrc) return EOPNOTSUPP;
      break;
    default:
      return EINVAL;
  }
  if (sends &&
      (!objects_.find_owned<Pd>(ask.pd, process) || !objects_.find_owned<Cq>(ask.send_cq, process)))
    return EINVAL;
  if (receives && !objects_.find_owned<Cq>(ask.recv_cq, process)) return EINVAL;
  const Xrcd* xrcd = objects_.find<Xrcd>(ask.xrcd);
  if (!sends && (!xrcd || !xrcd->has_opener(process))) return EINVAL;
  if (receives && ask.srq != 0) {
    const Srq* srq = objects_.find_owned<Srq>(ask.srq, process);
    if (!srq || srq->type != SrqType::basic) return EINVAL;
  }
  const Capacities& cap = ask.cap;
  if (cap.send_requests > limit::kQpRequests || cap.recv_requests > limit::kQpRequests ||
      cap.send_sges > limit::kSges || cap.recv_sges > limit::kSges ||
      cap.inline_bytes > limit::kInlineBytes)
    return EINVAL;
  return objects_.count<Qp>() >= limit::kQps ? ENOMEM : 0;
}

bool QpControl::make_rings(Qp& made, const Ask& ask) {
  const Capacities& cap = ask.cap;
  made.cap.send_requests = cap.send_requests;
  made.cap.send_sges = made.send.sges = std::max(cap.send_sges, 1U);
  const std::uint64_t body =
      std::max<std::uint64_t>(made.send.sges * sizeof(Sge), cap.inline_bytes);
  if (!make_ring(ring_memory_, made.owner, cap.send_requests,
                 static_cast<std::uint32_t>(sizeof(SendRequest) + body), made.send))
    return false;
  made.cap.inline_bytes = made.send.stride - static_cast<std::uint32_t>(sizeof(SendRequest));
  made.send.managed = (ask.create_flags & create_flag::kManagedSend) != 0;
  if (made.type == QpType::xrc_send || made.srq != 0) return true;
  made.cap.recv_requests = cap.recv_requests;
  if (!make_receive_ring(ring_memory_, made.owner, cap.recv_requests, cap.recv_sges, made.recv)) {
    ring_memory_.release(made.owner, made.send.region);
    return false;
  }
  made.cap.recv_sges = made.recv.sges;
  made.recv.managed = (ask.create_flags & create_flag::kManagedRecv) != 0;
  return true;
}

void QpControl::add_user(const Qp& qp) {
  if (Pd* pd = objects_.find<Pd>(qp.pd)) ++pd->users;
  if (Cq* cq = objects_.find<Cq>(qp.send_cq)) ++cq->users;
  if (Cq* cq = objects_.find<Cq>(qp.recv_cq)) ++cq->users;
  if (Srq* srq = objects_.find<Srq>(qp.srq)) ++srq->users;
}

int QpControl::create(ProcessId process, const Ask& ask, Answer& answer) {
  if (const int error = check_create(process, ask); error != 0) return error;
  const bool sends = ask.qp_type != QpType::xrc_recv;
  const bool receives = sends && ask.qp_type != QpType::xrc_send;
  Qp made;
  made.owner = process;
  made.type = ask.qp_type;
  made.cookie = ask.cookie;
  made.signal_all = ask.signal_all != 0;
  if (sends) {
    made.pd = ask.pd;
    made.send_cq = ask.send_cq;
  } else {
    made.xrcd = ask.xrcd;
    made.holders.push_back({process, ask.cookie});
  }
  if (receives) {
    made.recv_cq = ask.recv_cq;
    made.srq = ask.srq;
  }
  if (sends && !make_rings(made, ask)) return ENOMEM;
  const Region rings[] = {made.send.region, made.recv.region};
  answer.handle = objects_.add<Qp>(std::move(made));
  if (answer.handle == 0) {
    for (const Region& ring : rings)
      ring_memory_.release(process, ring);
    return ENOMEM;
  }
  Qp& qp = *objects_.find<Qp>(answer.handle);
  qp.handle = answer.handle;
  add_user(qp);
  objects_.process(process).qps.insert(qp.handle);
  answer.number = qp.handle;
  answer.send = qp.send.region;
  answer.recv = qp.recv.region;
  answer.send_stride = qp.send.stride;
  answer.recv_stride = qp.recv.stride;
  answer.send_slots = qp.send.slots;
  answer.recv_slots = qp.recv.slots;
  if (sends) qp.doorbell = assign_doorbell(process, qp.handle);
  answer.send_doorbell = answer.recv_doorbell = qp.doorbell;
  answer.cap = qp.cap;
  return 0;
}

std::uint32_t QpControl::assign_doorbell(ProcessId process, std::uint32_t qpn) {
  Attached& mine = objects_.process(process);
  // This takes the next doorbell that is free, or shares one if none is.
  for (std::uint32_t tried = 0;
       tried < kDoorbells && !mine.doorbell_users[mine.next_doorbell % kDoorbells].empty(); ++tried)
    ++mine.next_doorbell;
  const std::uint32_t doorbell = mine.next_doorbell++ % kDoorbells;
  mine.doorbell_users[doorbell].push_back(qpn);
  return doorbell;
}

int QpControl::open(ProcessId process, const Ask& ask, Answer& answer) {
  if (!settings_.open_qp) return EOPNOTSUPP;
  Qp* qp = objects_.find<Qp>(ask.number);
  const Xrcd* xrcd = objects_.find<Xrcd>(ask.xrcd);
  if (!qp || qp->type != QpType::xrc_recv || ask.qp_type != QpType::xrc_recv || !xrcd ||
      qp->xrcd != ask.xrcd || !xrcd->has_opener(process))
    return EINVAL;
  if (qp->holders.size() >= limit::kOpenings) return ENOMEM;
  qp->holders.push_back({process, ask.cookie});
  objects_.process(process).qps.insert(qp->handle);
  answer.handle = answer.number = qp->handle;
  answer.attributes = qp->attributes;
  answer.attributes.state = qp->state;
  return 0;
}

int QpControl::query(ProcessId process, const Ask& ask, Answer& answer) {
  const Qp* qp = find_held(process, ask.handle);
  if (!qp) return EINVAL;
  answer.attributes = qp->attributes;
  answer.attributes.state = answer.attributes.current_state = qp->state;
  answer.attributes.sq_draining = qp->state == QpState::sqd && !qp->window.empty() ? 1 : 0;
  answer.cap = qp->cap;
  return 0;
}

int QpControl::destroy(ProcessId process, std::uint32_t handle) {
  Attached& mine = objects_.process(process);
  Qp* qp = objects_.find<Qp>(handle);
  if (!qp || !mine.qps.contains(handle)) return EINVAL;
  if (qp->type == QpType::xrc_recv) {
    // An XRC_RECV queue pair lives until its last holder has released it.
    const auto holder =
        std::find_if(qp->holders.begin(), qp->holders.end(),
                     [process](const Qp::Holder& h) { return h.process == process; });
    if (holder != qp->holders.end()) qp->holders.erase(holder);
    const bool again = std::any_of(qp->holders.begin(), qp->holders.end(),
                                   [process](const Qp::Holder& h) { return h.process == process; });
    if (!again) mine.qps.erase(handle);
    if (qp->holders.empty()) remove(*qp);
    return 0;
  }
  mine.qps.erase(handle);
  remove(*qp);
  return 0;
}

void QpControl::resolve_peer(Qp& qp) {
  const QpAttributes& way = qp.attributes;
  const bool here = ports_.contains(way.dgid, way.is_global != 0, way.dlid);
  const auto node = here ? 0 : nodes_.node_of(way.dgid, way.is_global != 0, way.dlid);
  qp.reachable = node.has_value();
  qp.node = node.value_or(0);
}

Qp* QpControl::find_held(ProcessId process, std::uint32_t handle) {
  return objects_.process(process).qps.contains(handle) ? objects_.find<Qp>(handle) : nullptr;
}

int QpControl::modify(ProcessId process, const Ask& ask, Answer& answer) {
  Qp* qp = find_held(process, ask.handle);
  if (!qp) return EINVAL;
  const std::uint32_t mask = ask.attribute_mask;
  const QpAttributes& value = ask.attributes;
  if ((mask & attribute::kCurrentState) != 0 && value.current_state != qp->state) return EINVAL;
  const QpState to = (mask & attribute::kState) != 0 ? value.state : qp->state;
  if (!may_change(qp->type, qp->state, to, mask) || !sensible(value, mask)) return EINVAL;
  apply(value, mask, qp->attributes);
  if (to == QpState::reset)
    shutdown_.reset(*qp);
  else if (to == QpState::err)
    shutdown_.enter_error(*qp);
  else
    change_state(*qp, to, mask);
  answer.attributes.state = qp->state;
  return 0;
}

void QpControl::change_state(Qp& qp, QpState to, std::uint32_t mask) {
  if (to == QpState::rtr && qp.state == QpState::init) {
    resolve_peer(qp);
    qp.expected_psn = qp.attributes.rq_psn;
    qp.executed = 0;
    qp.found.clear();
    qp.established = false;
  }
  if (to == QpState::sqd && (mask & attribute::kAv) != 0) {
    resolve_peer(qp);
    // Messages on their way to the former address are sent to the new one.
    if (!qp.window.empty()) window_.try_again(qp, 0, false);
  }
  if (to == QpState::rts && qp.state == QpState::rtr) qp.send_psn = qp.attributes.sq_psn;
  const bool drains = to == QpState::sqd && qp.state == QpState::rts;
  // The value is valid for this change only.
  if (drains && (mask & attribute::kSqdNotify) == 0) qp.attributes.sqd_notify = 0;
  qp.state = to;
  if (drains && qp.window.empty() && qp.attributes.sqd_notify != 0)
    completions_.send_event(qp, EventType::sq_drained);
  scheduler_.schedule(qp);
}

void QpControl::remove(Qp& qp) {
  shutdown_.stop(qp);
  groups_.leave_all(qp.handle);
  if (qp.type != QpType::xrc_recv) {
    objects_.release_pd(qp.pd);
    if (Cq* cq = objects_.find<Cq>(qp.send_cq)) --cq->users;
    if (Cq* cq = objects_.find<Cq>(qp.recv_cq)) --cq->users;
    if (Srq* srq = objects_.find<Srq>(qp.srq)) --srq->users;
    Attached& owner = objects_.process(qp.owner);
    std::erase(owner.doorbell_users[qp.doorbell], qp.handle);
    owner.traffic += qp.traffic;
    ring_memory_.release(qp.owner, qp.send.region);
    if (qp.recv.head) ring_memory_.release(qp.owner, qp.recv.region);
  }
  objects_.remove<Qp>(qp.handle);
}

}  // namespace scela::hca
