// The requests of a process, except those for queue pairs (qp_control.cpp). Every object is made,
// changed and destroyed here; an object that is in use is not destroyed.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "hca/core/model/state.h"
#include "hca/core/wire/address.h"

namespace scela::hca {
namespace {

constexpr std::uint32_t kOpenCreate = 0100, kOpenExclusive = 0200;  // O_CREAT, O_EXCL

// Returns an object only to the process that owns it, or else null.
template <class T, class Objects>
T* owned(Objects& objects, std::uint32_t handle, ProcessId process) {
  T* object = objects.find(handle);
  return object && object->owner == process ? object : nullptr;
}

}  // namespace

Answer Engine::State::ask(ProcessId process, const Ask& ask) {
  Answer answer;
  if (!processes.contains(process)) {
    answer.error = EPROTO;
    return answer;
  }
  int error = 0;
  switch (ask.operation) {
    case Operation::hello:
      answer.device.guid = settings.guid;
      for (std::uint32_t port = 0; port < limit::kPorts; ++port) {
        answer.device.gids[port] = settings.gid;
        answer.device.gids[port].bytes[15] =
            static_cast<std::uint8_t>(settings.gid.bytes[15] + port);
        answer.device.lids[port] = static_cast<std::uint16_t>(settings.first_lid + port);
      }
      if (!settings.open_qp) answer.device.flags |= device_flag::kNoOpenQp;
      if (!settings.xrc) answer.device.flags |= device_flag::kNoXrc;
      break;
    case Operation::alloc_pd:
      answer.handle = pds.count() < limit::kPds ? pds.add(Pd{process, 0}) : 0;
      if (answer.handle == 0)
        error = ENOMEM;
      else
        processes[process].pds.insert(answer.handle);
      break;
    case Operation::create_channel:
      answer.handle = channels.add(Channel{process, 0});
      if (answer.handle == 0)
        error = ENOMEM;
      else
        processes[process].channels.insert(answer.handle);
      break;
    case Operation::reg_mr:
    case Operation::reg_pool:
      error = reg_mr(process, ask, answer);
      break;
    case Operation::create_cq:
      error = create_cq(process, ask, answer);
      break;
    case Operation::resize_cq: {
      Cq* cq = owned<Cq>(cqs, ask.handle, process);
      error = cq ? resize_cq(*cq, ask, answer) : EINVAL;
      break;
    }
    case Operation::create_srq:
      error = create_srq(process, ask, answer);
      break;
    case Operation::modify_srq: {
      Srq* srq = owned<Srq>(srqs, ask.handle, process);
      error = srq ? modify_srq(*srq, ask) : EINVAL;
      break;
    }
    case Operation::query_srq: {
      const Srq* srq = owned<Srq>(srqs, ask.handle, process);
      if (!srq) {
        error = EINVAL;
        break;
      }
      answer.limit = srq->limit;
      answer.cap.recv_requests = srq->requests;
      answer.cap.recv_sges = srq->ring.sges;
      break;
    }
    case Operation::open_xrcd:
      error = open_xrcd(process, ask, answer);
      break;
    case Operation::create_qp:
      error = create_qp(process, ask, answer);
      break;
    case Operation::open_qp:
      error = open_qp(process, ask, answer);
      break;
    case Operation::modify_qp:
      error = modify_qp(process, ask, answer);
      break;
    case Operation::query_qp:
      error = query_qp(process, ask, answer);
      break;
    case Operation::attach_mcast:
    case Operation::detach_mcast: {
      const Qp* qp = owned<Qp>(qps, ask.handle, process);
      if (!qp || qp->type != QpType::ud || !is_group(ask.gid)) {
        error = EINVAL;
        break;
      }
      std::pair<std::uint64_t, std::uint64_t> group;
      std::memcpy(&group.first, ask.gid.bytes, 8);
      std::memcpy(&group.second, ask.gid.bytes + 8, 8);
      const bool attaches = ask.operation == Operation::attach_mcast;
      if (attaches && !groups.contains(group) && groups.size() >= limit::kMcastGroups) {
        error = ENOMEM;
        break;
      }
      if (attaches)
        groups[group].insert(ask.handle);
      else if (groups[group].erase(ask.handle) == 0)
        error = EINVAL;
      if (groups[group].empty()) groups.erase(group);
      break;
    }
    default:
      error = destroy(process, ask);
  }
  answer.error = static_cast<std::uint32_t>(error);
  return answer;
}

int Engine::State::reg_mr(ProcessId process, const Ask& ask, Answer& answer) {
  Pd* pd = owned<Pd>(pds, ask.pd, process);
  const std::uint32_t remote = access::kRemoteWrite | access::kRemoteAtomic;
  if (!pd || ask.length > limit::kMrBytes || ask.address + ask.length < ask.address ||
      ask.iova + ask.length < ask.iova)
    return EINVAL;
  const bool is_pool = ask.operation == Operation::reg_pool;
  if (is_pool ? ask.address < kPools : ask.address + ask.length > kPools) return EINVAL;
  // Memory that others may write must be writable by its owner as well (ibv_reg_mr(3)).
  if ((ask.access & remote) != 0 && (ask.access & access::kLocalWrite) == 0) return EINVAL;
  const Mr mr{process, ask.pd, ask.address, ask.length, ask.iova, ask.access};
  answer.handle = mrs.count() < limit::kMrs ? mrs.add(mr) : 0;
  if (answer.handle == 0) return ENOMEM;
  answer.number = answer.handle;
  ++pd->users;
  processes[process].mrs.insert(answer.handle);
  return 0;
}

int Engine::State::create_cq(ProcessId process, const Ask& ask, Answer& answer) {
  Channel* channel = owned<Channel>(channels, ask.channel, process);
  if (ask.entries == 0 || ask.entries > limit::kCqEntries || (ask.channel != 0 && !channel))
    return EINVAL;
  if (cqs.count() >= limit::kCqs) return ENOMEM;
  const std::uint64_t entries = std::bit_ceil(ask.entries);
  const Host::Shared shared = host.allocate(process, kEntriesOffset + entries * sizeof(Completion));
  if (!shared.base) return ENOMEM;
  const std::uint32_t handle = cqs.add();
  if (handle == 0) {
    host.release(process, shared.region);
    return ENOMEM;
  }
  Cq& cq = *cqs.find(handle);
  cq.handle = handle;
  cq.owner = process;
  cq.channel = ask.channel;
  cq.cookie = ask.cookie;
  cq.ring = new (shared.base) CompletionRing;
  cq.region = shared.region;
  cq.entries = entries;
  cq.ignore_overrun = (ask.create_flags & create_flag::kIgnoreOverrun) != 0;
  if (channel) ++channel->users;
  processes[process].cqs.insert(handle);
  answer.handle = handle;
  answer.entries = static_cast<std::uint32_t>(entries);
  answer.send = shared.region;
  return 0;
}

int Engine::State::resize_cq(Cq& cq, const Ask& ask, Answer& answer) {
  if (ask.entries == 0 || ask.entries > limit::kCqEntries) return EINVAL;
  const std::uint64_t entries = std::bit_ceil(ask.entries);
  const std::uint64_t consumed = cq.ring->consumed.load(std::memory_order_acquire);
  const std::uint64_t kept = cq.produced - consumed;
  if (kept > cq.entries) return EINVAL;
  if (kept > entries) return EINVAL;
  const Host::Shared shared =
      host.allocate(cq.owner, kEntriesOffset + entries * sizeof(Completion));
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
  host.release(cq.owner, cq.region);
  cq.ring = ring;
  cq.region = shared.region;
  cq.entries = entries;
  answer.entries = static_cast<std::uint32_t>(entries);
  answer.send = shared.region;
  return 0;
}

int Engine::State::create_srq(ProcessId process, const Ask& ask, Answer& answer) {
  Pd* pd = owned<Pd>(pds, ask.pd, process);
  const bool is_xrc = ask.srq_type == SrqType::xrc;
  const Xrcd* xrcd = is_xrc ? xrcds.find(ask.xrcd) : nullptr;
  Cq* cq = is_xrc ? owned<Cq>(cqs, ask.cq, process) : nullptr;
  if (!pd || (is_xrc && (!xrcd || !cq)) || (!is_xrc && ask.srq_type != SrqType::basic))
    return EINVAL;
  if (xrcd && std::find(xrcd->openers.begin(), xrcd->openers.end(), process) == xrcd->openers.end())
    return EINVAL;
  if (ask.cap.recv_requests == 0 || ask.cap.recv_requests > limit::kSrqRequests ||
      ask.cap.recv_sges > limit::kSges || ask.limit > ask.cap.recv_requests)
    return EINVAL;
  if (srqs.count() >= limit::kSrqs) return ENOMEM;
  Srq made;
  made.owner = process;
  made.type = ask.srq_type;
  made.pd = ask.pd;
  made.xrcd = is_xrc ? ask.xrcd : 0;
  made.cq = is_xrc ? ask.cq : 0;
  made.limit = ask.limit;
  made.requests = ask.cap.recv_requests;
  made.cookie = ask.cookie;
  made.ring.sges = std::max(ask.cap.recv_sges, 1U);
  const auto stride =
      static_cast<std::uint32_t>(sizeof(RecvRequest) + made.ring.sges * sizeof(Sge));
  if (!make_ring(process, made.requests, stride, made.ring)) return ENOMEM;
  answer.handle = srqs.add(made);
  if (answer.handle == 0) {
    host.release(process, made.ring.region);
    return ENOMEM;
  }
  srqs.find(answer.handle)->handle = answer.handle;
  ++pd->users;
  if (cq) ++cq->users;
  processes[process].srqs.insert(answer.handle);
  answer.number = answer.handle;
  answer.recv = made.ring.region;
  answer.recv_stride = made.ring.stride;
  answer.recv_slots = made.ring.slots;
  answer.cap.recv_requests = made.requests;
  answer.cap.recv_sges = made.ring.sges;
  return 0;
}

int Engine::State::modify_srq(Srq& srq, const Ask& ask) {
  constexpr std::uint32_t kMaxWr = 1, kLimitMask = 2;
  if ((ask.attribute_mask & ~(kMaxWr | kLimitMask)) != 0) return EINVAL;
  if ((ask.attribute_mask & kMaxWr) != 0) return EOPNOTSUPP;  // the device does not report support
  if ((ask.attribute_mask & kLimitMask) != 0) {
    if (ask.limit > srq.requests) return EINVAL;
    srq.limit = ask.limit;
  }
  return 0;
}

int Engine::State::open_xrcd(ProcessId process, const Ask& ask, Answer& answer) {
  if (!settings.xrc) return EOPNOTSUPP;
  if (processes[process].xrcds.size() >= limit::kOpenings) return ENOMEM;
  const bool is_private = ask.file_device == 0 && ask.file_inode == 0;
  std::uint32_t handle = 0;
  if (!is_private)
    xrcds.each([&](const Xrcd& xrcd) {
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
    handle = xrcds.add(made);
    if (handle == 0) return ENOMEM;
    xrcds.find(handle)->handle = handle;
  }
  xrcds.find(handle)->openers.push_back(process);
  processes[process].xrcds.push_back(handle);
  answer.handle = handle;
  return 0;
}

bool Engine::State::uses_xrcd(const Attached& process, std::uint32_t handle) const {
  return std::any_of(process.srqs.begin(), process.srqs.end(),
                     [&](std::uint32_t srq) { return srqs.find(srq)->xrcd == handle; }) ||
         std::any_of(process.qps.begin(), process.qps.end(),
                     [&](std::uint32_t qp) { return qps.find(qp)->xrcd == handle; });
}

int Engine::State::close_xrcd(ProcessId process, std::uint32_t handle) {
  Xrcd* xrcd = xrcds.find(handle);
  auto& mine = processes[process].xrcds;
  const auto opened = std::find(mine.begin(), mine.end(), handle);
  if (!xrcd || opened == mine.end()) return EINVAL;
  // A process that closes the domain for the last time must have no object left in it. Such an
  // object would outlive its domain, or keep the domain forever.
  const bool last = std::count(mine.begin(), mine.end(), handle) == 1;
  if (last && uses_xrcd(processes[process], handle)) return EBUSY;
  mine.erase(opened);
  xrcd->openers.erase(std::find(xrcd->openers.begin(), xrcd->openers.end(), process));
  if (xrcd->openers.empty()) xrcds.remove(handle);
  return 0;
}

int Engine::State::destroy(ProcessId process, const Ask& ask) {
  Attached& mine = processes[process];
  switch (ask.operation) {
    case Operation::dealloc_pd: {
      const Pd* pd = owned<Pd>(pds, ask.handle, process);
      if (!pd) return EINVAL;
      if (pd->users != 0) return EBUSY;
      pds.remove(ask.handle);
      mine.pds.erase(ask.handle);
      return 0;
    }
    case Operation::dereg_mr: {
      const Mr* mr = owned<Mr>(mrs, ask.handle, process);
      if (!mr) return EINVAL;
      release_pd(mr->pd);
      mrs.remove(ask.handle);
      mine.mrs.erase(ask.handle);
      return 0;
    }
    case Operation::destroy_channel: {
      const Channel* channel = owned<Channel>(channels, ask.handle, process);
      if (!channel) return EINVAL;
      if (channel->users != 0) return EBUSY;
      channels.remove(ask.handle);
      mine.channels.erase(ask.handle);
      return 0;
    }
    case Operation::destroy_cq: {
      const Cq* cq = owned<Cq>(cqs, ask.handle, process);
      if (!cq) return EINVAL;
      if (cq->users != 0) return EBUSY;
      if (Channel* channel = channels.find(cq->channel)) --channel->users;
      host.release(process, cq->region);
      cqs.remove(ask.handle);
      mine.cqs.erase(ask.handle);
      return 0;
    }
    case Operation::destroy_srq: {
      const Srq* srq = owned<Srq>(srqs, ask.handle, process);
      if (!srq) return EINVAL;
      if (srq->users != 0) return EBUSY;
      release_pd(srq->pd);
      if (Cq* cq = cqs.find(srq->cq)) --cq->users;
      host.release(process, srq->ring.region);
      srqs.remove(ask.handle);
      mine.srqs.erase(ask.handle);
      return 0;
    }
    case Operation::destroy_qp:
      return destroy_qp(process, ask.handle);
    case Operation::close_xrcd:
      return close_xrcd(process, ask.handle);
    default:
      return EOPNOTSUPP;
  }
}

void Engine::State::release_pd(std::uint32_t handle) {
  if (Pd* pd = pds.find(handle)) --pd->users;
}

bool Engine::State::make_ring(ProcessId process, std::uint32_t requests, std::uint32_t stride,
                              Ring& ring) {
  ring.slots = std::bit_ceil(std::max(requests, 1U));
  ring.stride = (stride + 63) / 64 * 64;
  const Host::Shared shared =
      host.allocate(process, kEntriesOffset + std::uint64_t{ring.slots} * ring.stride);
  if (!shared.base) return false;
  ring.head = new (shared.base) RequestRing;
  ring.entries = shared.base + kEntriesOffset;
  ring.region = shared.region;
  return true;
}

// Destroys all objects of a process, users before the objects that they use.
void Engine::State::detach(ProcessId process) {
  const auto found = processes.find(process);
  if (found == processes.end()) return;
  const Attached had = found->second;
  Ask ask;
  const auto destroy_all = [&](const std::set<std::uint32_t>& handles, Operation operation) {
    ask.operation = operation;
    for (const std::uint32_t handle : handles) {
      ask.handle = handle;
      destroy(process, ask);
    }
  };
  // A queue pair that was opened several times is released as often.
  while (!found->second.qps.empty())
    destroy_qp(process, *found->second.qps.begin());
  destroy_all(had.srqs, Operation::destroy_srq);
  destroy_all(had.cqs, Operation::destroy_cq);
  destroy_all(had.mrs, Operation::dereg_mr);
  destroy_all(had.channels, Operation::destroy_channel);
  destroy_all(had.pds, Operation::dealloc_pd);
  for (const std::uint32_t handle : had.xrcds)
    close_xrcd(process, handle);
  departed += found->second.traffic;
  processes.erase(process);
}

}  // namespace scela::hca
