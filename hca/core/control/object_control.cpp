#include "hca/core/control/object_control.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>
#include <set>

#include "hca/core/control/ring_memory.h"
#include "hca/core/wire/port_address.h"

namespace scela::hca {
namespace {

constexpr std::uint32_t kOpenCreate = 0100, kOpenExclusive = 0200;  // O_CREAT, O_EXCL

}  // namespace

Answer ObjectControl::execute(ProcessId process, const Ask& ask) {
  Answer answer;
  const int error = objects_.find_process(process) ? change(process, ask, answer) : EPROTO;
  answer.error = static_cast<std::uint32_t>(error);
  return answer;
}

int ObjectControl::change(ProcessId process, const Ask& ask, Answer& answer) {
  switch (ask.operation) {
    case Operation::hello:
      return query_device(answer);
    case Operation::alloc_pd:
      return alloc_pd(process, answer);
    case Operation::create_channel:
      return create_channel(process, answer);
    case Operation::reg_mr:
    case Operation::reg_pool:
      return reg_mr(process, ask, answer);
    case Operation::create_cq:
      return create_cq(process, ask, answer);
    case Operation::resize_cq:
      return resize_cq(process, ask, answer);
    case Operation::create_srq:
      return create_srq(process, ask, answer);
    case Operation::modify_srq:
      return modify_srq(process, ask);
    case Operation::query_srq:
      return query_srq(process, ask, answer);
    case Operation::open_xrcd:
      return open_xrcd(process, ask, answer);
    case Operation::create_qp:
      return queue_pairs_.create(process, ask, answer);
    case Operation::open_qp:
      return queue_pairs_.open(process, ask, answer);
    case Operation::modify_qp:
      return queue_pairs_.modify(process, ask, answer);
    case Operation::query_qp:
      return queue_pairs_.query(process, ask, answer);
    case Operation::attach_mcast:
      return attach_mcast(process, ask);
    case Operation::detach_mcast:
      return detach_mcast(process, ask);
    default:
      return destroy(process, ask);
  }
}

int ObjectControl::query_device(Answer& answer) const {
  answer.device.guid = settings_.guid;
  for (std::uint32_t port = 0; port < limit::kPorts; ++port) {
    answer.device.gids[port] = ports_.gid(port);
    answer.device.lids[port] = ports_.lid(port);
  }
  if (!settings_.open_qp) answer.device.flags |= device_flag::kNoOpenQp;
  if (!settings_.xrc) answer.device.flags |= device_flag::kNoXrc;
  return 0;
}

int ObjectControl::alloc_pd(ProcessId process, Answer& answer) {
  answer.handle = objects_.count<Pd>() < limit::kPds ? objects_.add(Pd{process, 0}) : 0;
  if (answer.handle == 0) return ENOMEM;
  objects_.process(process).pds.insert(answer.handle);
  return 0;
}

int ObjectControl::create_channel(ProcessId process, Answer& answer) {
  answer.handle = objects_.add(Channel{process, 0});
  if (answer.handle == 0) return ENOMEM;
  objects_.process(process).channels.insert(answer.handle);
  return 0;
}

int ObjectControl::reg_mr(ProcessId process, const Ask& ask, Answer& answer) {
  Pd* pd = objects_.find_owned<Pd>(ask.pd, process);
  const std::uint32_t remote = access::kRemoteWrite | access::kRemoteAtomic;
  if (!pd || ask.length > limit::kMrBytes || ask.address + ask.length < ask.address ||
      ask.iova + ask.length < ask.iova)
    return EINVAL;
  const bool is_pool = ask.operation == Operation::reg_pool;
  if (is_pool ? ask.address < kPools : ask.address + ask.length > kPools) return EINVAL;
  // Memory that others may write must be writable by its owner as well (ibv_reg_mr(3)).
  if ((ask.access & remote) != 0 && (ask.access & access::kLocalWrite) == 0) return EINVAL;
  const Mr mr{process, ask.pd, ask.address, ask.length, ask.iova, ask.access};
  answer.handle = objects_.count<Mr>() < limit::kMrs ? objects_.add<Mr>(mr) : 0;
  if (answer.handle == 0) return ENOMEM;
  answer.number = answer.handle;
  ++pd->users;
  objects_.process(process).mrs.insert(answer.handle);
  return 0;
}

int ObjectControl::create_cq(ProcessId process, const Ask& ask, Answer& answer) {
  Channel* channel = objects_.find_owned<Channel>(ask.channel, process);
  if (ask.entries == 0 || ask.entries > limit::kCqEntries || (ask.channel != 0 && !channel))
    return EINVAL;
  if (objects_.count<Cq>() >= limit::kCqs) return ENOMEM;
  const std::uint64_t entries = std::bit_ceil(ask.entries);
  const SharedMemory::Shared shared =
      ring_memory_.allocate(process, kEntriesOffset + entries * sizeof(Completion));
  if (!shared.base) return ENOMEM;
  const std::uint32_t handle = objects_.add<Cq>({});
  if (handle == 0) {
    ring_memory_.release(process, shared.region);
    return ENOMEM;
  }
  Cq& cq = *objects_.find<Cq>(handle);
  cq.handle = handle;
  cq.owner = process;
  cq.channel = ask.channel;
  cq.cookie = ask.cookie;
  cq.ring = new (shared.base) CompletionRing;
  cq.region = shared.region;
  cq.entries = entries;
  cq.ignore_overrun = (ask.create_flags & create_flag::kIgnoreOverrun) != 0;
  if (channel) ++channel->users;
  objects_.process(process).cqs.insert(handle);
  answer.handle = handle;
  answer.entries = static_cast<std::uint32_t>(entries);
  answer.send = shared.region;
  return 0;
}

int ObjectControl::resize_cq(ProcessId process, const Ask& ask, Answer& answer) {
  Cq* const found = objects_.find_owned<Cq>(ask.handle, process);
  if (!found) return EINVAL;
  Cq& cq = *found;
  if (ask.entries == 0 || ask.entries > limit::kCqEntries) return EINVAL;
  const std::uint64_t entries = std::bit_ceil(ask.entries);
  const std::uint64_t consumed = cq.ring->consumed.load(std::memory_order_acquire);
  const std::uint64_t kept = cq.produced - consumed;
  if (kept > cq.entries) return EINVAL;
  if (kept > entries) return EINVAL;
  const SharedMemory::Shared shared =
      ring_memory_.allocate(cq.owner, kEntriesOffset + entries * sizeof(Completion));
  if (!shared.base) return ENOMEM;
  auto* ring = new (shared.base) CompletionRing;
  const auto* from =
      reinterpret_cast<const Completion*>(reinterpret_cast<std::byte*>(cq.ring) + kEntriesOffset);
  auto* to = reinterpret_cast<Completion*>(shared.base + kEntriesOffset);
  for (std::uint64_t index = consumed; index != cq.produced; ++index)
    to[index & (entries - 1)] = from[index & (cq.entries - 1)];
  ring->consumed.store(consumed, std::memory_order_relaxed);
  ring->armed.store(cq.ring->armed.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ring->broken.store(cq.ring->broken.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ring->produced.store(cq.produced, std::memory_order_release);
  ring_memory_.release(cq.owner, cq.region);
  cq.ring = ring;
  cq.region = shared.region;
  cq.entries = entries;
  answer.entries = static_cast<std::uint32_t>(entries);
  answer.send = shared.region;
  return 0;
}

int ObjectControl::create_srq(ProcessId process, const Ask& ask, Answer& answer) {
  Pd* pd = objects_.find_owned<Pd>(ask.pd, process);
  const bool is_xrc = ask.srq_type == SrqType::xrc;
  const Xrcd* xrcd = is_xrc ? objects_.find<Xrcd>(ask.xrcd) : nullptr;
  Cq* cq = is_xrc ? objects_.find_owned<Cq>(ask.cq, process) : nullptr;
  if (!pd || (is_xrc && (!xrcd || !cq)) || (!is_xrc && ask.srq_type != SrqType::basic))
    return EINVAL;
  if (xrcd && !xrcd->has_opener(process)) return EINVAL;
  if (ask.cap.recv_requests == 0 || ask.cap.recv_requests > limit::kSrqRequests ||
      ask.cap.recv_sges > limit::kSges || ask.limit > ask.cap.recv_requests)
    return EINVAL;
  if (objects_.count<Srq>() >= limit::kSrqs) return ENOMEM;
  Srq made;
  made.owner = process;
  made.type = ask.srq_type;
  made.pd = ask.pd;
  made.xrcd = is_xrc ? ask.xrcd : 0;
  made.cq = is_xrc ? ask.cq : 0;
  made.limit = ask.limit;
  made.requests = ask.cap.recv_requests;
  made.cookie = ask.cookie;
  if (!make_receive_ring(ring_memory_, process, made.requests, ask.cap.recv_sges, made.ring))
    return ENOMEM;
  answer.handle = objects_.add<Srq>(made);
  if (answer.handle == 0) {
    ring_memory_.release(process, made.ring.region);
    return ENOMEM;
  }
  objects_.find<Srq>(answer.handle)->handle = answer.handle;
  ++pd->users;
  if (cq) ++cq->users;
  objects_.process(process).srqs.insert(answer.handle);
  answer.number = answer.handle;
  answer.recv = made.ring.region;
  answer.recv_stride = made.ring.stride;
  answer.recv_slots = made.ring.slots;
  answer.cap.recv_requests = made.requests;
  answer.cap.recv_sges = made.ring.sges;
  return 0;
}

int ObjectControl::modify_srq(ProcessId process, const Ask& ask) {
  Srq* const srq = objects_.find_owned<Srq>(ask.handle, process);
  if (!srq) return EINVAL;
  constexpr std::uint32_t kMaxWr = 1, kLimitMask = 2;
  if ((ask.attribute_mask & ~(kMaxWr | kLimitMask)) != 0) return EINVAL;
  if ((ask.attribute_mask & kMaxWr) != 0) return EOPNOTSUPP;  // the device does not report support
  if ((ask.attribute_mask & kLimitMask) != 0) {
    if (ask.limit > srq->requests) return EINVAL;
    srq->limit = ask.limit;
  }
  return 0;
}

int ObjectControl::query_srq(ProcessId process, const Ask& ask, Answer& answer) const {
  const Srq* srq = objects_.find_owned<Srq>(ask.handle, process);
  if (!srq) return EINVAL;
  answer.limit = srq->limit;
  answer.cap.recv_requests = srq->requests;
  answer.cap.recv_sges = srq->ring.sges;
  return 0;
}

bool ObjectControl::may_be_member(ProcessId process, const Ask& ask) const {
  const Qp* qp = objects_.find_owned<Qp>(ask.handle, process);
  return qp && qp->type == QpType::ud && is_group(ask.gid);
}

int ObjectControl::attach_mcast(ProcessId process, const Ask& ask) {
  if (!may_be_member(process, ask)) return EINVAL;
  return groups_.join(ask.gid, ask.handle) ? 0 : ENOMEM;
}

int ObjectControl::detach_mcast(ProcessId process, const Ask& ask) {
  return may_be_member(process, ask) && groups_.leave(ask.gid, ask.handle) ? 0 : EINVAL;
}

int ObjectControl::open_xrcd(ProcessId process, const Ask& ask, Answer& answer) {
  if (!settings_.xrc) return EOPNOTSUPP;
  if (objects_.process(process).xrcds.size() >= limit::kOpenings) return ENOMEM;
  const bool is_private = ask.file_device == 0 && ask.file_inode == 0;
  std::uint32_t handle = 0;
  if (!is_private)
    objects_.each<Xrcd>([&](const Xrcd& xrcd) {
      if (xrcd.file_device == ask.file_device && xrcd.file_inode == ask.file_inode)
        handle = xrcd.handle;
    });
  if (handle != 0 && (ask.open_flags & kOpenCreate) != 0 && (ask.open_flags & kOpenExclusive) != 0)
    return EINVAL;
  if (handle == 0) {
    if (!is_private && (ask.open_flags & kOpenCreate) == 0) return EAGAIN;
    Xrcd made;
    made.file_device = ask.file_device;
    made.file_inode = ask.file_inode;
    handle = objects_.add<Xrcd>(made);
    if (handle == 0) return ENOMEM;
    objects_.find<Xrcd>(handle)->handle = handle;
  }
  objects_.find<Xrcd>(handle)->openers.push_back(process);
  objects_.process(process).xrcds.push_back(handle);
  answer.handle = handle;
  return 0;
}

bool ObjectControl::uses_xrcd(const Attached& process, std::uint32_t handle) const {
  return std::any_of(process.srqs.begin(), process.srqs.end(),
                     [&](std::uint32_t srq) { return objects_.find<Srq>(srq)->xrcd == handle; }) ||
         std::any_of(process.qps.begin(), process.qps.end(),
                     [&](std::uint32_t qp) { return objects_.find<Qp>(qp)->xrcd == handle; });
}

int ObjectControl::close_xrcd(ProcessId process, std::uint32_t handle) {
  Xrcd* xrcd = objects_.find<Xrcd>(handle);
  auto& mine = objects_.process(process).xrcds;
  const auto opened = std::find(mine.begin(), mine.end(), handle);
  if (!xrcd || opened == mine.end()) return EINVAL;
  // A process that closes the domain for the last time must have no object left in it. Such an
  // object would outlive its domain, or keep the domain forever.
  const bool last = std::count(mine.begin(), mine.end(), handle) == 1;
  if (last && uses_xrcd(objects_.process(process), handle)) return EBUSY;
  mine.erase(opened);
  xrcd->openers.erase(std::find(xrcd->openers.begin(), xrcd->openers.end(), process));
  if (xrcd->openers.empty()) objects_.remove<Xrcd>(handle);
  return 0;
}

int ObjectControl::destroy(ProcessId process, const Ask& ask) {
  switch (ask.operation) {
    case Operation::dealloc_pd:
      return dealloc_pd(process, ask.handle);
    case Operation::dereg_mr:
      return dereg_mr(process, ask.handle);
    case Operation::destroy_channel:
      return destroy_channel(process, ask.handle);
    case Operation::destroy_cq:
      return destroy_cq(process, ask.handle);
    case Operation::destroy_srq:
      return destroy_srq(process, ask.handle);
    case Operation::destroy_qp:
      return queue_pairs_.destroy(process, ask.handle);
    case Operation::close_xrcd:
      return close_xrcd(process, ask.handle);
    default:
      return EOPNOTSUPP;
  }
}

int ObjectControl::dealloc_pd(ProcessId process, std::uint32_t handle) {
  const Pd* pd = objects_.find_owned<Pd>(handle, process);
  if (!pd) return EINVAL;
  if (pd->users != 0) return EBUSY;
  objects_.remove<Pd>(handle);
  objects_.process(process).pds.erase(handle);
  return 0;
}

int ObjectControl::dereg_mr(ProcessId process, std::uint32_t handle) {
  const Mr* mr = objects_.find_owned<Mr>(handle, process);
  if (!mr) return EINVAL;
  objects_.release_pd(mr->pd);
  objects_.remove<Mr>(handle);
  objects_.process(process).mrs.erase(handle);
  return 0;
}

int ObjectControl::destroy_channel(ProcessId process, std::uint32_t handle) {
  const Channel* channel = objects_.find_owned<Channel>(handle, process);
  if (!channel) return EINVAL;
  if (channel->users != 0) return EBUSY;
  objects_.remove<Channel>(handle);
  objects_.process(process).channels.erase(handle);
  return 0;
}

int ObjectControl::destroy_cq(ProcessId process, std::uint32_t handle) {
  const Cq* cq = objects_.find_owned<Cq>(handle, process);
  if (!cq) return EINVAL;
  if (cq->users != 0) return EBUSY;
  if (Channel* channel = objects_.find<Channel>(cq->channel)) --channel->users;
  ring_memory_.release(process, cq->region);
  objects_.remove<Cq>(handle);
  objects_.process(process).cqs.erase(handle);
  return 0;
}

int ObjectControl::destroy_srq(ProcessId process, std::uint32_t handle) {
  const Srq* srq = objects_.find_owned<Srq>(handle, process);
  if (!srq) return EINVAL;
  if (srq->users != 0) return EBUSY;
  objects_.release_pd(srq->pd);
  if (Cq* cq = objects_.find<Cq>(srq->cq)) --cq->users;
  ring_memory_.release(process, srq->ring.region);
  objects_.remove<Srq>(handle);
  objects_.process(process).srqs.erase(handle);
  return 0;
}

void ObjectControl::detach(ProcessId process) {
  Attached* const found = objects_.find_process(process);
  if (!found) return;
  const Attached had = *found;
  Ask ask;
  const auto destroy_all = [&](const std::set<std::uint32_t>& handles, Operation operation) {
    ask.operation = operation;
    for (const std::uint32_t handle : handles) {
      ask.handle = handle;
      destroy(process, ask);
    }
  };
  // A queue pair that was opened several times is released as often.
  while (!found->qps.empty())
    queue_pairs_.destroy(process, *found->qps.begin());
  destroy_all(had.srqs, Operation::destroy_srq);
  destroy_all(had.cqs, Operation::destroy_cq);
  destroy_all(had.mrs, Operation::dereg_mr);
  destroy_all(had.channels, Operation::destroy_channel);
  destroy_all(had.pds, Operation::dealloc_pd);
  for (const std::uint32_t handle : had.xrcds)
    close_xrcd(process, handle);
  objects_.detach(process);
}

}  // namespace scela::hca
