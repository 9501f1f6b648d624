// Makes, resizes and destroys completion queues and their channels. poll.cpp takes completions.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

Cq* make_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes, std::uint32_t flags) {
  Context& ours = context_of(context);
  if (attributes.cqe == 0 || attributes.cqe > limit::kCqEntries) return no<Cq>(EINVAL);
  if (attributes.comp_vector >= static_cast<std::uint32_t>(context->num_comp_vectors)) {
    return no<Cq>(EINVAL);
  }
  auto made = std::make_unique<Cq>();
  Ask ask;
  ask.operation = Operation::create_cq;
  ask.entries = attributes.cqe;
  ask.create_flags = flags;
  if (attributes.channel != nullptr) ask.channel = channel_of(attributes.channel).handle;
  {
    const std::unique_lock lock(ours.table.mutex);
    made->cookie = ours.table.next_cookie++;
    ours.table.cqs_by_cookie[made->cookie] = made.get();
  }
  ask.cookie = made->cookie;
  const Answer answer = ours.link.ask(ask);
  int error = static_cast<int>(answer.error);
  if (error == 0 && !made->map(ours.link, answer.send, answer.entries)) error = EPROTO;
  if (error != 0) {
    const std::unique_lock lock(ours.table.mutex);
    ours.table.cqs_by_cookie.erase(made->cookie);
    return no<Cq>(error);
  }
  made->context = context;
  made->channel = attributes.channel;
  made->cq_context = attributes.cq_context;
  made->handle = answer.handle;
  ::pthread_mutex_init(&made->ibv_cq_ex::mutex, nullptr);
  ::pthread_cond_init(&made->cond, nullptr);
  if (made->channel != nullptr) {
    ::pthread_mutex_lock(&context->mutex);
    ++made->channel->refcnt;
    ::pthread_mutex_unlock(&context->mutex);
  }
  return made.release();
}

// Waits until the program has acknowledged every event about this queue.
void await_acknowledged(Cq& cq) {
  ::pthread_mutex_lock(&cq.mutex);
  while (cq.comp_events_completed != cq.comp_events ||
         cq.async_events_completed != cq.async_events) {
    ::pthread_cond_wait(&cq.cond, &cq.mutex);
  }
  ::pthread_mutex_unlock(&cq.mutex);
}

constexpr std::uint64_t kPollFields = IBV_WC_STANDARD_FLAGS;

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  return guarded([&]() -> ibv_cq_ex* {
    constexpr std::uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    constexpr std::uint32_t kFlags =
        IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    const std::uint32_t flags =
        (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attributes->flags : 0;
    if ((attributes->comp_mask & ~kKnown) != 0 || (flags & ~kFlags) != 0 ||
        (attributes->wc_flags & ~kPollFields) != 0) {
      return no<ibv_cq_ex>(EOPNOTSUPP);
    }
    Cq* const made =
        make_cq(context, *attributes,
                (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0 ? create_flag::kIgnoreOverrun : 0);
    if (made == nullptr) return nullptr;
    made->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
    offer_polling(*made, attributes->wc_flags);
    return made;
  });
}

int modify_cq(ibv_cq*, ibv_modify_cq_attr* attributes) {
  if ((attributes->attr_mask & ~static_cast<std::uint32_t>(IBV_CQ_ATTR_MODERATE)) != 0) {
    return EINVAL;
  }
  // The device does not delay events, so only values that mean "at once" are accepted.
  return attributes->moderate.cq_count > 1 || attributes->moderate.cq_period > 0 ? EOPNOTSUPP : 0;
}

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return guarded([&]() -> ibv_comp_channel* {
    auto made = std::make_unique<Channel>();
    Ask ask;
    ask.operation = Operation::create_channel;
    scela::Fd events;
    const Answer answer = context_of(context).link.ask(ask, &events, 1);
    if (answer.error != 0) return no<ibv_comp_channel>(static_cast<int>(answer.error));
    made->context = context;
    made->fd = events.release();
    made->refcnt = 0;
    made->handle = answer.handle;
    return made.release();
  });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return guarded([&]() -> int {
    ibv_context* const context = channel->context;
    ::pthread_mutex_lock(&context->mutex);
    const bool used = channel->refcnt != 0;
    ::pthread_mutex_unlock(&context->mutex);
    if (used) return EBUSY;
    Ask ask;
    ask.operation = Operation::destroy_channel;
    ask.handle = channel_of(channel).handle;
    const Answer answer = context_of(context).link.ask(ask);
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    ::close(channel->fd);
    delete &channel_of(channel);
    return 0;
  });
}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int comp_vector) {
  return guarded([&]() -> ibv_cq* {
    if (cqe <= 0 || comp_vector < 0) return no<ibv_cq>(EINVAL);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = static_cast<std::uint32_t>(cqe);
    attributes.cq_context = cq_context;
    attributes.channel = channel;
    attributes.comp_vector = static_cast<std::uint32_t>(comp_vector);
    Cq* const made = make_cq(context, attributes, 0);
    return made == nullptr ? nullptr : public_of(*made);
  });
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  return guarded([&]() -> int {
    Cq& ours = cq_of(cq);
    EngineLink& link = context_of(cq->context).link;
    if (cqe <= 0) return EINVAL;
    const std::lock_guard lock(ours.lock);
    Ask ask;
    ask.operation = Operation::resize_cq;
    ask.handle = cq->handle;
    ask.entries = static_cast<std::uint32_t>(cqe);
    const auto alone = context_of(cq->context).poll_sleeper.without(ours, link);
    const Answer answer = link.ask(ask);
    if (answer.error != 0) return static_cast<int>(answer.error);
    const Region before = ours.region;
    if (!ours.map(link, answer.send, answer.entries)) return EPROTO;
    // A thread that looks through all queues may still read the old ring.
    const std::unique_lock none_looks(context_of(cq->context).table.mutex);
    link.release(before);
    return 0;
  });
}

int ibv_destroy_cq(ibv_cq* cq) {
  return guarded([&]() -> int {
    Cq& ours = cq_of(cq);
    Context& context = context_of(cq->context);
    {
      const std::lock_guard lock(ours.lock);
      const auto alone = context.poll_sleeper.without(ours, context.link);
      Ask ask;
      ask.operation = Operation::destroy_cq;
      ask.handle = cq->handle;
      const Answer answer = context.link.ask(ask);
      if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    }
    {
      const std::unique_lock lock(context.table.mutex);
      context.table.cqs_by_cookie.erase(ours.cookie);
    }
    await_acknowledged(ours);
    if (cq->channel != nullptr) {
      ::pthread_mutex_lock(&cq->context->mutex);
      --cq->channel->refcnt;
      ::pthread_mutex_unlock(&cq->context->mutex);
    }
    ::pthread_mutex_destroy(&cq->mutex);
    ::pthread_cond_destroy(&cq->cond);
    context.link.release(ours.region);
    delete &ours;
    return 0;
  });
}

}  // extern "C"
