/* The software adapter, but receives are shown late, as a device may show them where queue pairs
 * share a receive queue: every fourth by the poll after the next, and those of a queue pair in the
 * error state only once ibv_get_async_event() has told IBV_EVENT_QP_LAST_WQE_REACHED of it, or,
 * with LATE_VERBS_SILENT in the environment, 8 ms after it came there: then that event is never
 * told. Receives that were not shown before the queue pair is destroyed are lost. At the process's
 * end the library writes to standard error how many receives it has shown late.
 *
 * All functions that are not defined here come from the library that this one is linked to. The
 * process may poll with one thread only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMaxQueuePairs = 1024, kMaxHeld = 8192, kLateNanoseconds = 8000000 };

/* Queue pairs in the error state. */
struct failed {
  uint32_t number;
  int64_t since;                 /* nanoseconds, of the monotonic clock */
  struct ibv_async_event* event; /* that is to be told; null: it has not come, or was told */
  int told;
};
static struct failed failed[kMaxQueuePairs];
static struct ibv_async_event events[kMaxQueuePairs];
static unsigned failures;
struct held {
  struct ibv_cq* queue;
  struct ibv_wc completion;
};
static struct held held[kMaxHeld];
static unsigned holds, receives;
static unsigned shown_late, shown_after_failure;
static int (*real_poll)(struct ibv_cq*, int, struct ibv_wc*);

static struct failed* failure_of(uint32_t number) {
  for (unsigned i = 0; i < failures; ++i)
    if (failed[i].number == number) return &failed[i];
  return NULL;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static struct failed* fails(uint32_t number) {
  struct failed* const known = failure_of(number);
  if (known != NULL || failures == kMaxQueuePairs) return known;
  failed[failures] = (struct failed){number, now(), NULL, 0};
  return &failed[failures++];
}

static int is_silent(void) {
  return getenv("LATE_VERBS_SILENT") != NULL;
}

/* `at`: one time for all receives that a poll shows, so that none overtakes another. */
static int is_late(uint32_t number, int64_t at) {
  const struct failed* const one = failure_of(number);
  if (one == NULL || one->told) return 0;
  return !is_silent() || at - one->since < kLateNanoseconds;
}

static int is_over(uint32_t number, int64_t at) {
  return failure_of(number) != NULL && !is_late(number, at);
}

static int is_behind_held(uint32_t number) {
  unsigned at = 0;
  while (at < holds && held[at].completion.qp_num != number)
    ++at;
  return at < holds;
}

int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask) {
  int (*real)(struct ibv_qp*, struct ibv_qp_attr*, int);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_modify_qp");
  if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_ERR && qp->srq != NULL)
    fails(qp->qp_num);
  return real(qp, attributes, mask);
}

static void acknowledge(struct ibv_async_event* event) {
  void (*real)(struct ibv_async_event*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_ack_async_event");
  real(event);
}

int ibv_destroy_qp(struct ibv_qp* qp) {
  int (*real)(struct ibv_qp*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_destroy_qp");
  unsigned kept = 0;
  for (unsigned i = 0; i < holds; ++i)
    if (held[i].completion.qp_num != qp->qp_num) held[kept++] = held[i];
  holds = kept;
  struct failed* const one = failure_of(qp->qp_num);
  if (one != NULL && one->event != NULL) acknowledge(one->event);
  if (one != NULL) *one = failed[--failures];
  return real(qp);
}

/* The context must be one that does not block. */
int ibv_get_async_event(struct ibv_context* context, struct ibv_async_event* event) {
  static unsigned next;
  int (*real)(struct ibv_context*, struct ibv_async_event*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_get_async_event");
  while (real(context, event) == 0) {
    if (event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED) return 0;
    struct failed* const one = fails(event->element.qp->qp_num);
    if (one == NULL) return 0;
    one->event = &events[next++ % kMaxQueuePairs];
    *one->event = *event;
  }
  for (unsigned i = 0; i < failures; ++i) {
    if (failed[i].event == NULL || now() - failed[i].since < kLateNanoseconds || is_silent())
      continue;
    *event = *failed[i].event;
    failed[i].event = NULL;
    failed[i].told = 1;
    return 0;
  }
  errno = EAGAIN;
  return -1;
}

static int poll(struct ibv_cq* queue, int most, struct ibv_wc* completions) {
  const int64_t at = now();
  int count = 0;
  unsigned kept = 0;
  for (unsigned i = 0; i < holds; ++i) {
    if (count < most && held[i].queue == queue && !is_late(held[i].completion.qp_num, at)) {
      ++shown_late;
      shown_after_failure += failure_of(held[i].completion.qp_num) != NULL;
      completions[count++] = held[i].completion;
    } else {
      held[kept++] = held[i];
    }
  }
  holds = kept;
  const int more = count == most ? 0 : real_poll(queue, most - count, completions + count);
  if (more < 0) return count != 0 ? count : more;
  const int end = count + more;
  for (int i = count; i < end; ++i) {
    const struct ibv_wc one = completions[i];
    const int good = one.status == IBV_WC_SUCCESS;
    if (!good && (one.opcode & IBV_WC_RECV) == 0) fails(one.qp_num);
    const int is_receive = good && (one.opcode & IBV_WC_RECV) != 0;
    const int late = is_receive && (is_behind_held(one.qp_num) || is_late(one.qp_num, at) ||
                                    (!is_over(one.qp_num, at) && ++receives % 4 == 0));
    if (late && holds < kMaxHeld) {
      held[holds].queue = queue;
      held[holds++].completion = one;
    } else {
      completions[count++] = one;
    }
  }
  return count;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  struct ibv_context* (*real)(struct ibv_device*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_open_device");
  struct ibv_context* const context = real(device);
  if (context == NULL) return NULL;
  if (context->ops.poll_cq != poll) real_poll = context->ops.poll_cq;
  context->ops.poll_cq = poll;
  return context;
}

__attribute__((destructor)) static void tell(void) {
  fprintf(stderr, "late_verbs: %u receives were shown late, %u after their queue pair failed\n",
          shown_late, shown_after_failure);
}
