// Shared receive queues, and the XRC domains.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "hca/library/objects/context.h"
#include "hca/library/objects/cq.h"
#include "hca/library/objects/domains.h"
#include "hca/library/objects/srq.h"
#include "hca/library/requests/requests.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

Srq* make_srq(ibv_context* context, ibv_srq_init_attr_ex& attributes) {
  Context& ours = context_of(context);
  auto made = std::make_unique<Srq>();
  Ask ask;
  ask.operation = Operation::create_srq;
  ask.pd = attributes.pd->handle;
  ask.cap.recv_requests = attributes.attr.max_wr;
  ask.cap.recv_sges = attributes.attr.max_sge;
  // A limit cannot be set before the queue holds requests.
  ask.limit = 0;
  if (attributes.srq_type == IBV_SRQT_XRC) {
    made->type = SrqType::xrc;
    ask.srq_type = SrqType::xrc;
    ask.xrcd = xrcd_of(attributes.xrcd).handle;
    ask.cq = attributes.cq->handle;
    made->cq = &cq_of(attributes.cq);
  }
  {
    const std::unique_lock lock(ours.table.mutex);
    made->cookie = ours.table.next_cookie++;
  }
  ask.cookie = made->cookie;
  const Answer answer = ours.link.ask(ask);
  if (answer.error != 0) return no<Srq>(static_cast<int>(answer.error));
  made->queue.capacity = answer.cap.recv_requests;
  made->queue.sges = answer.cap.recv_sges;
  made->queue.doorbell = answer.recv_doorbell;
  if (!made->queue.map(ours.link, answer.recv, answer.recv_slots, answer.recv_stride,
                       sizeof(RecvRequest)) ||
      made->queue.ring == nullptr) {
    return no<Srq>(EPROTO);
  }
  made->number = answer.number;
  made->context = context;
  made->srq_context = attributes.srq_context;
  made->pd = attributes.pd;
  made->handle = answer.handle;
  ::pthread_mutex_init(&made->mutex, nullptr);
  ::pthread_cond_init(&made->cond, nullptr);
  attributes.attr.max_wr = answer.cap.recv_requests;
  attributes.attr.max_sge = answer.cap.recv_sges;
  const std::unique_lock lock(ours.table.mutex);
  ours.table.srqs[made->handle] = made.get();
  ours.table.srqs_by_cookie[made->cookie] = made.get();
  return made.release();
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  return guarded([&]() -> ibv_srq* {
    const std::uint32_t mask = attributes->comp_mask;
    constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    if ((mask & ~kKnown) != 0) return no<ibv_srq>(EOPNOTSUPP);
    if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) return no<ibv_srq>(EINVAL);
    ibv_srq_init_attr_ex made_of = *attributes;
    if ((mask & IBV_SRQ_INIT_ATTR_TYPE) == 0) made_of.srq_type = IBV_SRQT_BASIC;
    if (made_of.srq_type == IBV_SRQT_XRC) {
      constexpr std::uint32_t kOfXrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
      if ((mask & kOfXrc) != kOfXrc || made_of.xrcd == nullptr || made_of.cq == nullptr) {
        return no<ibv_srq>(EINVAL);
      }
    } else if (made_of.srq_type != IBV_SRQT_BASIC) {
      return no<ibv_srq>(EOPNOTSUPP);
    }
    Srq* const made = make_srq(context, made_of);
    if (made != nullptr) attributes->attr = made_of.attr;
    return made;
  });
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  if (srq_of(srq).type != SrqType::xrc) return EOPNOTSUPP;
  *number = srq_of(srq).number;
  return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  return guarded([&]() -> ibv_xrcd* {
    constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if ((attributes->comp_mask & ~kNeeded) != 0) return no<ibv_xrcd>(EOPNOTSUPP);
    if (attributes->comp_mask != kNeeded) return no<ibv_xrcd>(EINVAL);
    auto made = std::make_unique<Xrcd>();
    Ask ask;
    ask.operation = Operation::open_xrcd;
    ask.open_flags = static_cast<std::uint32_t>(attributes->oflags);
    if (attributes->fd >= 0) {
      made->file.reset(::fcntl(attributes->fd, F_DUPFD_CLOEXEC, 3));
      struct stat status {};
      if (!made->file || ::fstat(made->file.get(), &status) != 0) return no<ibv_xrcd>(EBADF);
      ask.file_device = status.st_dev;
      ask.file_inode = status.st_ino;
    }
    const Answer answer = context_of(context).link.ask(ask);
    if (answer.error != 0) return no<ibv_xrcd>(static_cast<int>(answer.error));
    made->context = context;
    made->handle = answer.handle;
    return made.release();
  });
}

int close_xrcd(ibv_xrcd* xrcd) {
  return guarded([&]() -> int {
    Ask ask;
    ask.operation = Operation::close_xrcd;
    ask.handle = xrcd_of(xrcd).handle;
    const Answer answer = context_of(xrcd->context).link.ask(ask);
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    delete &xrcd_of(xrcd);
    return 0;
  });
}

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr) {
  return guarded([&]() -> ibv_srq* {
    ibv_srq_init_attr_ex all{};
    all.srq_context = srq_init_attr->srq_context;
    all.attr = srq_init_attr->attr;
    all.srq_type = IBV_SRQT_BASIC;
    all.pd = pd;
    Srq* const made = make_srq(pd->context, all);
    if (made != nullptr) srq_init_attr->attr = all.attr;
    return made;
  });
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* srq_attr, int srq_attr_mask) {
  return guarded([&]() -> int {
    constexpr unsigned kKnown = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
    const auto bits = static_cast<unsigned>(srq_attr_mask);
    if ((bits & ~kKnown) != 0) return EINVAL;
    RequestQueue& queue = srq_of(srq).queue;
    const std::lock_guard lock(queue.mutex);
    if ((bits & IBV_SRQ_MAX_WR) != 0 && srq_attr->max_wr > queue.mask + 1) return EINVAL;
    Ask ask;
    ask.operation = Operation::modify_srq;
    ask.handle = srq->handle;
    ask.attribute_mask = bits;
    ask.cap.recv_requests = srq_attr->max_wr;
    ask.limit = srq_attr->srq_limit;
    const Answer answer = context_of(srq->context).link.ask(ask);
    if (answer.error == 0 && (bits & IBV_SRQ_MAX_WR) != 0) queue.capacity = srq_attr->max_wr;
    return static_cast<int>(answer.error);
  });
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* srq_attr) {
  return guarded([&]() -> int {
    Ask ask;
    ask.operation = Operation::query_srq;
    ask.handle = srq->handle;
    const Answer answer = context_of(srq->context).link.ask(ask);
    if (answer.error != 0) return static_cast<int>(answer.error);
    srq_attr->max_wr = answer.cap.recv_requests;
    srq_attr->max_sge = answer.cap.recv_sges;
    srq_attr->srq_limit = answer.limit;
    return 0;
  });
}

int ibv_destroy_srq(ibv_srq* srq) {
  return guarded([&]() -> int {
    Srq& ours = srq_of(srq);
    Context& context = context_of(srq->context);
    Ask ask;
    ask.operation = Operation::destroy_srq;
    ask.handle = srq->handle;
    const Answer answer = context.link.ask(ask);
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    {
      const std::unique_lock lock(context.table.mutex);
      const auto found = context.table.srqs.find(srq->handle);
      // The engine may have given the number to another queue by now.
      if (found != context.table.srqs.end() && found->second == &ours) {
        context.table.srqs.erase(found);
      }
      context.table.srqs_by_cookie.erase(ours.cookie);
    }
    ::pthread_mutex_lock(&srq->mutex);
    while (srq->events_completed != ours.async_events)
      ::pthread_cond_wait(&srq->cond, &srq->mutex);
    ::pthread_mutex_unlock(&srq->mutex);
    ::pthread_mutex_destroy(&srq->mutex);
    ::pthread_cond_destroy(&srq->cond);
    context.link.release(ours.queue.region);
    delete &ours;
    return 0;
  });
}

}  // extern "C"
