// Completion events and asynchronous events. They are datagrams from the engine, which this file
// counts and hands to the program.
//
// A program must acknowledge each event before it can destroy the event's object.
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <shared_mutex>

#include "common/os/syscall.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/cq.h"
#include "hca/library/objects/qp.h"
#include "hca/library/objects/srq.h"

namespace scela::hca::library {

namespace {

// Receives one datagram. It blocks unless the program made the descriptor non-blocking. Returns 1,
// or 0 if the engine has gone, or -1 with errno set.
template <class T>
int receive(int fd, T& datagram) {
  const ssize_t got = ::recv(fd, &datagram, sizeof(datagram), 0);
  if (got < 0) return errno == ECONNRESET ? 0 : -1;
  return got == static_cast<ssize_t>(sizeof(datagram)) ? 1 : 0;
}

void hand_out(Cq& cq, ibv_cq** shown, void** cq_context) {
  ::pthread_mutex_lock(&cq.mutex);
  ++cq.comp_events;
  ::pthread_mutex_unlock(&cq.mutex);
  *shown = public_of(cq);
  *cq_context = cq.cq_context;
}

bool holds_requests(RequestQueue& queue) {
  const std::lock_guard lock(queue.mutex);
  return queue.ring != nullptr && queue.completed.load(std::memory_order_acquire) != queue.posted;
}

// Returns true if a poll would find something, even if that is only flushed requests.
bool has_something(const Table& table, Cq& cq) {
  const ibv_cq* const shown = public_of(cq);
  if (cq.ring->produced.load(std::memory_order_acquire) !=
      cq.ring->consumed.load(std::memory_order_acquire)) {
    return true;
  }
  for (const auto& [handle, qp] : table.qps) {
    const ibv_qp& base = qp->qp_base;
    if (base.send_cq == shown && holds_requests(qp->send)) return true;
    if (base.recv_cq == shown &&
        holds_requests(base.srq == nullptr ? qp->recv : srq_of(base.srq).queue)) {
      return true;
    }
  }
  for (const auto& [handle, srq] : table.srqs) {
    if (srq->cq == &cq && holds_requests(srq->queue)) return true;
  }
  return false;
}

// Called after the engine has gone. Hands out an event for one queue in which a poll would find
// something.
bool hand_out_flushed(Context& context, const ibv_comp_channel& channel, ibv_cq** shown,
                      void** cq_context) {
  context.link.look();
  const std::shared_lock lock(context.table.mutex);
  for (const auto& [cookie, cq] : context.table.cqs_by_cookie) {
    if (cq->channel != &channel || !has_something(context.table, *cq)) continue;
    hand_out(*cq, shown, cq_context);
    return true;
  }
  return false;
}

// Returns false if the object has gone.
bool name_element(Context& context, const AsyncEvent& from, ibv_async_event& to) {
  Table& table = context.table;
  const std::shared_lock lock(table.mutex);
  switch (from.type) {
    case EventType::cq_error: {
      const auto found = table.cqs_by_cookie.find(from.cookie);
      if (found == table.cqs_by_cookie.end()) return false;
      Cq& cq = *found->second;
      ::pthread_mutex_lock(&cq.mutex);
      ++cq.async_events;
      ::pthread_mutex_unlock(&cq.mutex);
      to.element.cq = public_of(cq);
      return true;
    }
    case EventType::srq_error:
    case EventType::srq_limit_reached: {
      const auto found = table.srqs_by_cookie.find(from.cookie);
      if (found == table.srqs_by_cookie.end()) return false;
      Srq& srq = *found->second;
      ::pthread_mutex_lock(&srq.mutex);
      ++srq.async_events;
      ::pthread_mutex_unlock(&srq.mutex);
      to.element.srq = &srq;
      return true;
    }
    case EventType::device_fatal:
    case EventType::port_active:
      to.element.port_num = static_cast<int>(from.port);
      return true;
    default: {
      const auto found = table.qps_by_cookie.find(from.cookie);
      if (found == table.qps_by_cookie.end()) return false;
      Qp& qp = *found->second;
      ::pthread_mutex_lock(&qp.qp_base.mutex);
      ++qp.async_events;
      ::pthread_mutex_unlock(&qp.qp_base.mutex);
      to.element.qp = &qp.qp_base;
      return true;
    }
  }
}

void count(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& counter,
           std::uint32_t events) {
  ::pthread_mutex_lock(&mutex);
  counter += events;
  ::pthread_cond_signal(&cond);
  ::pthread_mutex_unlock(&mutex);
}

}  // namespace

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Context& context = context_of(channel->context);
  for (;;) {
    std::uint64_t cookie = 0;
    const int got = receive(channel->fd, cookie);
    if (got < 0) return -1;
    if (got == 0) {
      if (hand_out_flushed(context, *channel, cq, cq_context)) return 0;
      errno = EIO;
      return -1;
    }
    const std::shared_lock lock(context.table.mutex);
    const auto found = context.table.cqs_by_cookie.find(cookie);
    if (found == context.table.cqs_by_cookie.end()) continue;  // destroyed since
    hand_out(*found->second, cq, cq_context);
    return 0;
  }
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned events) {
  count(cq->mutex, cq->cond, cq->comp_events_completed, events);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& ours = context_of(context);
  for (;;) {
    AsyncEvent from;
    const int got = receive(context->async_fd, from);
    if (got < 0) return -1;
    *event = {};
    if (got == 0) {
      ours.link.look();
      if (ours.told_fatal.exchange(true)) {
        errno = EIO;
        return -1;
      }
      event->event_type = IBV_EVENT_DEVICE_FATAL;
      return 0;
    }
    event->event_type = static_cast<ibv_event_type>(from.type);
    if (name_element(ours, from, *event)) return 0;
  }
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq& cq = *event->element.cq;
      return count(cq.mutex, cq.cond, cq.async_events_completed, 1);
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq& srq = *event->element.srq;
      return count(srq.mutex, srq.cond, srq.events_completed, 1);
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp& qp = *event->element.qp;
      return count(qp.mutex, qp.cond, qp.events_completed, 1);
    }
    default:
      return;  // from the device or a port
  }
}

}  // extern "C"
