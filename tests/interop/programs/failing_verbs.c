/* The software adapter, one call of which fails, in one rank of the job.
 *
 *   FAILING_VERBS=NAME:N    the N-th call of that function fails, and none after it
 *   FAILING_VERBS=NAME:N+   and all that follow, as of a device that was taken away
 *   FAILING_VERBS=all       none fails
 *   FAILING_VERBS_RANK=R    of rank R alone; without it of no rank
 *   FAILING_VERBS_ERROR=E   with this errno; without it EIO
 *
 * NAME is the function's without "ibv_", such as reg_mr; of modify_qp with the state that is asked
 * for behind it, such as modify_qp_rtr. The rank writes a line to standard error when a call has
 * failed, and at its end, with FAILING_VERBS=all, one for each function: how often it was called.
 *
 * What fails does nothing: what was to be destroyed is there, and is lost, as its library would
 * lose it. What is not defined here comes from the library that this one is linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/include/scela/hca_job.h"
#include "hca/include/scela/verbs_ext.h"

enum { kMostFunctions = 64, kLongestName = 40, kMostKept = 4096 };

static struct {
  char name[kLongestName];
  atomic_uint calls;
} functions[kMostFunctions];
static atomic_uint known;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char chosen[kLongestName]; /* the function that fails; empty: none */
static unsigned chosen_call;
static int and_all_after, counts, error_number = EIO;

static void say(const char* text) {
  fputs(text, stderr); /* one write: standard error has a buffer of its own here */
}

__attribute__((constructor)) static void begin(void) {
  static char line[256];
  setvbuf(stderr, line, _IOLBF, sizeof line);
  const char* const what = getenv("FAILING_VERBS");
  const char* const which = getenv("FAILING_VERBS_RANK");
  const char* const own = getenv("PMI_RANK");
  const char* const error = getenv("FAILING_VERBS_ERROR");
  if (error != NULL) error_number = atoi(error);
  if (what == NULL || which == NULL || own == NULL || strcmp(which, own) != 0) return;
  counts = strcmp(what, "all") == 0;
  const char* const colon = strchr(what, ':');
  if (colon == NULL || colon - what >= kLongestName) return;
  memcpy(chosen, what, (size_t)(colon - what));
  chosen_call = (unsigned)atoi(colon + 1);
  and_all_after = what[strlen(what) - 1] == '+';
}

__attribute__((destructor)) static void end(void) {
  if (!counts) return;
  for (unsigned i = 0; i < known; ++i) {
    char text[100];
    snprintf(text, sizeof text, "failing_verbs: %s was called %u times\n", functions[i].name,
             functions[i].calls);
    say(text);
  }
}

static atomic_uint* calls_of(const char* name) {
  for (unsigned i = 0; i < known; ++i)
    if (strcmp(functions[i].name, name) == 0) return &functions[i].calls;
  pthread_mutex_lock(&mutex);
  unsigned at = 0;
  while (at < known && strcmp(functions[at].name, name) != 0)
    ++at;
  if (at == known && known < kMostFunctions - 1) {
    snprintf(functions[at].name, kLongestName, "%s", name);
    ++known;
  }
  pthread_mutex_unlock(&mutex);
  return &functions[at].calls;
}

/* Whether this call of the function is to fail; then errno is set. */
static int fails(const char* name) {
  if (counts) ++*calls_of(name);
  if (chosen[0] == 0 || strcmp(name, chosen) != 0) return 0;
  const unsigned call = ++*calls_of(name);
  if (call != chosen_call && !(and_all_after && call > chosen_call)) return 0;
  if (call == chosen_call) {
    char text[100];
    snprintf(text, sizeof text, "failing_verbs: call %u of %s fails\n", call, name);
    say(text);
  }
  errno = error_number;
  return 1;
}

/* Where a sanitizer finds it, whose own concern it is not that it is lost. */
static void* kept[kMostKept];
static void keep(void* object) {
  static atomic_uint count;
  kept[count++ % kMostKept] = object;
}

/* A function's name without "ibv_". */
#define SHORT(name) (&(#name)[strncmp(#name, "ibv_", 4) == 0 ? 4 : 0])
/* What the adapter has by that name, as a pointer `real`. */
#define REAL(result, name, parameters) \
  result(*real) parameters;            \
  *(void**)&real = dlsym(RTLD_NEXT, #name)

/* A function that returns a pointer, or null with errno. */
#define MAKES(result, name, parameters, arguments) \
  result name parameters {                         \
    if (fails(SHORT(name))) return NULL;           \
    REAL(result, name, parameters);                \
    return real arguments;                         \
  }
/* One that returns 0, or an errno. */
#define RETURNS(name, parameters, arguments)     \
  int name parameters {                          \
    if (fails(SHORT(name))) return error_number; \
    REAL(int, name, parameters);                 \
    return real arguments;                       \
  }
/* One that destroys: what it has not destroyed, also for what was not before, is not the caller's
 * to free. */
#define DESTROYS(name, type)                                            \
  int name(type* object) {                                              \
    REAL(int, name, (type*));                                           \
    const int error = fails(SHORT(name)) ? error_number : real(object); \
    if (error != 0) keep(object);                                       \
    return error;                                                       \
  }
/* One that returns 0, or -1 with errno. */
#define ANSWERS(name, parameters, arguments) \
  int name parameters {                      \
    if (fails(SHORT(name))) return -1;       \
    REAL(int, name, parameters);             \
    return real arguments;                   \
  }

#undef ibv_reg_mr
#undef ibv_query_port

MAKES(struct ibv_device**, ibv_get_device_list, (int* count), (count))
DESTROYS(ibv_close_device, struct ibv_context)
RETURNS(ibv_query_device, (struct ibv_context * context, struct ibv_device_attr* device),
        (context, device))
ANSWERS(ibv_query_gid, (struct ibv_context * context, uint8_t port, int index, union ibv_gid* gid),
        (context, port, index, gid))
MAKES(struct ibv_pd*, ibv_alloc_pd, (struct ibv_context * context), (context))
DESTROYS(ibv_dealloc_pd, struct ibv_pd)
MAKES(struct ibv_mr*, ibv_reg_mr, (struct ibv_pd * pd, void* at, size_t bytes, int access),
      (pd, at, bytes, access))
DESTROYS(ibv_dereg_mr, struct ibv_mr)
MAKES(struct ibv_comp_channel*, ibv_create_comp_channel, (struct ibv_context * context), (context))
DESTROYS(ibv_destroy_comp_channel, struct ibv_comp_channel)
MAKES(struct ibv_cq*, ibv_create_cq,
      (struct ibv_context * context, int entries, void* own, struct ibv_comp_channel* channel,
       int vector),
      (context, entries, own, channel, vector))
DESTROYS(ibv_destroy_cq, struct ibv_cq)
ANSWERS(ibv_get_cq_event, (struct ibv_comp_channel * channel, struct ibv_cq** queue, void** own),
        (channel, queue, own))
MAKES(struct ibv_srq*, ibv_create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr* attributes),
      (pd, attributes))
DESTROYS(ibv_destroy_srq, struct ibv_srq)
MAKES(struct ibv_qp*, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr* attributes),
      (pd, attributes))
DESTROYS(ibv_destroy_qp, struct ibv_qp)
MAKES(struct ibv_ah*, ibv_create_ah, (struct ibv_pd * pd, struct ibv_ah_attr* attributes),
      (pd, attributes))
DESTROYS(ibv_destroy_ah, struct ibv_ah)
ANSWERS(ibv_get_async_event, (struct ibv_context * context, struct ibv_async_event* event),
        (context, event))

int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask) {
  static const char* const kNames[] = {"modify_qp_reset", "modify_qp_init", "modify_qp_rtr",
                                       "modify_qp_rts",   "modify_qp_sqd",  "modify_qp_sqe",
                                       "modify_qp_err"};
  if (fails(kNames[attributes->qp_state])) return error_number;
  REAL(int, ibv_modify_qp, (struct ibv_qp*, struct ibv_qp_attr*, int));
  return real(qp, attributes, mask);
}

/* Tasks. */

MAKES(struct ibv_cq*, scela_create_cq,
      (struct ibv_context * context, int entries, void* own, struct ibv_comp_channel* channel,
       int vector),
      (context, entries, own, channel, vector))
DESTROYS(scela_destroy_cq, struct ibv_cq)
MAKES(struct ibv_qp*, scela_create_qp,
      (struct ibv_context * context, struct ibv_qp_init_attr_ex* attributes), (context, attributes))
RETURNS(scela_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr* attributes, int mask),
        (qp, attributes, mask))
DESTROYS(scela_destroy_qp, struct ibv_qp)
RETURNS(scela_post_task, (struct ibv_qp * qp, struct scela_task* first, struct scela_task** bad),
        (qp, first, bad))
MAKES(struct ibv_qp*, scela_create_mq, (struct ibv_pd * pd, struct ibv_cq* queue, uint32_t most),
      (pd, queue, most))
RETURNS(scela_hca_join, (const struct scela_hca_job* job), (job))

/* What goes through a context's tables. */

static struct verbs_context tables; /* of the adapter; all its contexts have the same functions */

static int poll_cq(struct ibv_cq* queue, int most, struct ibv_wc* completions) {
  if (fails("poll_cq")) return -1;
  return tables.context.ops.poll_cq(queue, most, completions);
}
static int req_notify_cq(struct ibv_cq* queue, int solicited_only) {
  if (fails("req_notify_cq")) return error_number;
  return tables.context.ops.req_notify_cq(queue, solicited_only);
}
static int post_send(struct ibv_qp* qp, struct ibv_send_wr* first, struct ibv_send_wr** bad) {
  *bad = first;
  if (fails("post_send")) return error_number;
  return tables.context.ops.post_send(qp, first, bad);
}
static int post_recv(struct ibv_qp* qp, struct ibv_recv_wr* first, struct ibv_recv_wr** bad) {
  *bad = first;
  if (fails("post_recv")) return error_number;
  return tables.context.ops.post_recv(qp, first, bad);
}
static int post_srq_recv(struct ibv_srq* queue, struct ibv_recv_wr* first,
                         struct ibv_recv_wr** bad) {
  *bad = first;
  if (fails("post_srq_recv")) return error_number;
  return tables.context.ops.post_srq_recv(queue, first, bad);
}
static int query_port(struct ibv_context* context, uint8_t number, struct ibv_port_attr* port,
                      size_t size) {
  if (fails("query_port")) return error_number;
  return tables.query_port(context, number, port, size);
}
static struct ibv_xrcd* open_xrcd(struct ibv_context* context,
                                  struct ibv_xrcd_init_attr* attributes) {
  return fails("open_xrcd") ? NULL : tables.open_xrcd(context, attributes);
}
static int close_xrcd(struct ibv_xrcd* domain) {
  const int error = fails("close_xrcd") ? error_number : tables.close_xrcd(domain);
  if (error != 0) keep(domain);
  return error;
}
static struct ibv_srq* create_srq_ex(struct ibv_context* context,
                                     struct ibv_srq_init_attr_ex* attributes) {
  return fails("create_srq_ex") ? NULL : tables.create_srq_ex(context, attributes);
}
static struct ibv_qp* create_qp_ex(struct ibv_context* context,
                                   struct ibv_qp_init_attr_ex* attributes) {
  const int receives = attributes->qp_type == IBV_QPT_XRC_RECV;
  if (fails(receives ? "create_qp_ex_recv" : "create_qp_ex_send")) return NULL;
  return tables.create_qp_ex(context, attributes);
}
static struct ibv_qp* open_qp(struct ibv_context* context, struct ibv_qp_open_attr* attributes) {
  return fails("open_qp") ? NULL : tables.open_qp(context, attributes);
}
static int get_srq_num(struct ibv_srq* queue, uint32_t* number) {
  return fails("get_srq_num") ? error_number : tables.get_srq_num(queue, number);
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  if (fails("open_device")) return NULL;
  REAL(struct ibv_context*, ibv_open_device, (struct ibv_device*));
  struct ibv_context* const context = real(device);
  if (context == NULL) return NULL;
  struct verbs_context* const all = verbs_get_ctx(context);
  if (tables.query_port == NULL) tables = *all;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  context->ops.post_srq_recv = post_srq_recv;
  all->query_port = query_port;
  all->open_xrcd = open_xrcd;
  all->close_xrcd = close_xrcd;
  all->create_srq_ex = create_srq_ex;
  all->create_qp_ex = create_qp_ex;
  all->open_qp = open_qp;
  all->get_srq_num = get_srq_num;
  return context;
}
