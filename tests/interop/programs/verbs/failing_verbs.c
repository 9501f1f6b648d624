/* The software adapter, but one call fails, or ends its process, in one rank of the job.
 *
 *   FAILING_VERBS=NAME:N    the N-th call of that function fails, and none after it
 *   FAILING_VERBS=NAME:N+   and all that follow, as of a device that was taken away
 *   FAILING_VERBS=all       no call fails
 *   FAILING_VERBS_RANK=R    in rank R alone; without it in no rank
 *   FAILING_VERBS_ERROR=E   with this errno; without it EIO
 *   FAILING_VERBS_ENDS=HOW  the call does not fail, but its process ends: by SIGKILL ("kill"), by
 *                           _exit(7) ("exit"), or it stops until it is killed ("stop")
 *   FAILING_VERBS_VICTIM=V  with "kill": rank V's process ends, which has the same SCELA_TEST_MARK,
 *                           not this one; the call goes on when that is gone
 *   FAILING_VERBS_WHEN=after  the process ends after the call; without it before
 *
 * NAME is the function's name without "ibv_", such as reg_mr. For modify_qp the requested state is
 * behind it, such as modify_qp_rtr. Processes also end at the datagrams of connecting. Those have
 * the names say_WORD (as it is sent) and hear_WORD (before the library sees it, or after it has
 * done all that the datagram asks for), with the WORD of comm-channel/core/connect/handshake.h.
 *
 * The rank writes a line to standard error when a call has failed, or before its process ends. With
 * FAILING_VERBS=all it writes at its end how often each function was called, one line each. It does
 * the same when failing_verbs_opened() is called, for the calls before.
 *
 * A call that fails does nothing: an object that was to be destroyed stays, and is lost, as its
 * library would lose it. All functions that are not defined here come from the library that this
 * one is linked to. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/include/scela/hca_job.h"
#include "hca/include/scela/verbs_ext.h"

enum { kMaxFunctions = 64, kLongestName = 40, kMaxKept = 4096 };

static struct {
  char name[kLongestName];
  atomic_uint calls;
} functions[kMaxFunctions];
static atomic_uint known;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char chosen[kLongestName]; /* the failing function; empty: none */
static unsigned chosen_call;
static int and_all_after, counts, error_number = EIO;
static enum { kNot, kByKill, kByExit, kByStop } ends;
static int ends_after;
static const char* victim;       /* another rank */
static _Thread_local int is_due; /* the process ends when the call at hand has been carried out */

static void say(const char* text) {
  fputs(text, stderr); /* one write: standard error has a buffer of its own here */
}

__attribute__((constructor)) static void begin(void) {
  static char line[256];
  setvbuf(stderr, line, _IOLBF, sizeof line);
  const char* const what = getenv("FAILING_VERBS");
  const char* const which = getenv("FAILING_VERBS_RANK");
  const char* const own = getenv(getenv("PMI_RANK") != NULL ? "PMI_RANK" : "PMIX_RANK");
  const char* const error = getenv("FAILING_VERBS_ERROR");
  if (error != NULL) error_number = atoi(error);
  if (what == NULL || which == NULL || own == NULL || strcmp(which, own) != 0) return;
  const char* const by = getenv("FAILING_VERBS_ENDS");
  const char* const when = getenv("FAILING_VERBS_WHEN");
  if (by != NULL) ends = by[0] == 'k' ? kByKill : by[0] == 'e' ? kByExit : kByStop;
  victim = getenv("FAILING_VERBS_VICTIM");
  ends_after = when != NULL && strcmp(when, "after") == 0;
  counts = strcmp(what, "all") == 0;
  const char* const colon = strchr(what, ':');
  if (colon == NULL || colon - what >= kLongestName) return;
  memcpy(chosen, what, (size_t)(colon - what));
  chosen_call = (unsigned)atoi(colon + 1);
  and_all_after = what[strlen(what) - 1] == '+';
}

static void say_counts(const char* until) {
  if (!counts) return;
  for (unsigned i = 0; i < known; ++i) {
    char text[100];
    snprintf(text, sizeof text, "failing_verbs: %s was called %u times%s\n", functions[i].name,
             functions[i].calls, until);
    say(text);
  }
}
__attribute__((destructor)) static void end(void) {
  say_counts("");
}
/* Called when the rank has opened its channel. */
void failing_verbs_opened(void);
void failing_verbs_opened(void) {
  say_counts(" before");
}

static atomic_uint* calls_of(const char* name) {
  for (unsigned i = 0; i < known; ++i)
    if (strcmp(functions[i].name, name) == 0) return &functions[i].calls;
  pthread_mutex_lock(&mutex);
  unsigned at = 0;
  while (at < known && strcmp(functions[at].name, name) != 0)
    ++at;
  if (at == known && known < kMaxFunctions - 1) {
    snprintf(functions[at].name, kLongestName, "%s", name);
    ++known;
  }
  pthread_mutex_unlock(&mutex);
  return &functions[at].calls;
}

/* Returns 1 if a process has all these words in its environment. */
static int has(const char* pid, const char* const* words, unsigned count) {
  static char all[1 << 16];
  char path[300];
  snprintf(path, sizeof path, "/proc/%s/environ", pid);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0;
  const size_t bytes = fread(all, 1, sizeof all - 1, file);
  fclose(file);
  all[bytes] = 0;
  unsigned found = 0;
  for (const char* at = all; at < all + bytes; at += strlen(at) + 1)
    for (unsigned i = 0; i < count; ++i)
      found += strcmp(at, words[i]) == 0;
  return found == count;
}
/* Returns the victim's process, or 0 if it has ended. */
static pid_t victim_there(void) {
  const char* const mark = getenv("SCELA_TEST_MARK");
  char own[100], rank[100];
  snprintf(own, sizeof own, "SCELA_TEST_MARK=%s", mark != NULL ? mark : "");
  snprintf(rank, sizeof rank, "%s=%s", getenv("PMI_RANK") != NULL ? "PMI_RANK" : "PMIX_RANK",
           victim);
  const char* const words[] = {own, rank};
  pid_t found = 0;
  DIR* const processes = opendir("/proc");
  for (const struct dirent* one; processes != NULL && (one = readdir(processes)) != NULL;)
    if (atoi(one->d_name) > 0 && has(one->d_name, words, 2)) found = atoi(one->d_name);
  if (processes != NULL) closedir(processes);
  return found;
}
static void end_victim(void) {
  const pid_t process = victim_there();
  if (process == 0) return;
  char text[100];
  snprintf(text, sizeof text, "failing_verbs: call %u of %s ends process %d\n", chosen_call, chosen,
           (int)process);
  say(text);
  kill(process, SIGKILL);
  while (victim_there() == process) /* the memory goes first, then all that it has open */
    sched_yield();
}

static void end_process(void) {
  if (victim != NULL) {
    is_due = 0;
    end_victim();
    return;
  }
  char text[100];
  snprintf(text, sizeof text, "failing_verbs: call %u of %s ends process %d\n", chosen_call, chosen,
           (int)getpid());
  say(text);
  if (ends == kByExit) _exit(7);
  kill(getpid(), ends == kByKill ? SIGKILL : SIGSTOP);
  for (;;)
    pause(); /* nothing more is done, though a signal may take its time */
}
/* Called when the call at hand has been carried out. */
static void done(void) {
  if (is_due) end_process();
}

/* Returns nonzero if this call of the function is to fail; then errno is set. */
static int fails(const char* name) {
  if (counts) ++*calls_of(name);
  if (chosen[0] == 0 || strcmp(name, chosen) != 0) return 0;
  const unsigned call = ++*calls_of(name);
  if (call != chosen_call && !(and_all_after && call > chosen_call)) return 0;
  if (ends != kNot && call == chosen_call) {
    if (!ends_after) end_process();
    is_due = 1;
  }
  if (ends != kNot) return 0;
  if (call == chosen_call) {
    char text[100];
    snprintf(text, sizeof text, "failing_verbs: call %u of %s fails\n", call, name);
    say(text);
  }
  errno = error_number;
  return 1;
}

/* Lost objects are kept here, so that a sanitizer does not report them as leaks. */
static void* kept[kMaxKept];
static void keep(void* object) {
  static atomic_uint count;
  kept[count++ % kMaxKept] = object;
}

/* The buffers in which datagrams are received, by the library's number of the request. */
enum { kMaxPorts = 4, kMaxBuffers = 64 * kMaxPorts, kGrh = 40, kSaid = 12 };
static struct ibv_cq* datagram_queues[kMaxPorts];
static unsigned datagram_queue_count;
static struct { uint64_t number, address; } buffers[kMaxBuffers];

static int is_of_datagrams(const struct ibv_cq* queue) {
  for (unsigned i = 0; i < kMaxPorts; ++i)
    if (datagram_queues[i] == queue) return 1;
  return 0;
}

static void note_buffer(const struct ibv_recv_wr* request) {
  unsigned at = 0;
  while (at < kMaxBuffers - 1 && buffers[at].address != 0 && buffers[at].number != request->wr_id)
    ++at;
  buffers[at].number = request->wr_id;
  buffers[at].address = request->sg_list->addr;
}

/* The datagram is about to be sent, or was received. Returns true if the process ends behind it. */
static int at_datagram(const char* way, const unsigned char* bytes) {
  static const char* const kWords[] = {"nothing", "connect", "accept",  "confirm",
                                       "join",    "joined",  "refuse",  "close",
                                       "closed",  "leave",   "give_up", "given_up"};
  const unsigned said = bytes[kSaid];
  char name[kLongestName];
  snprintf(name, sizeof name, "%s_%s", way,
           said < sizeof kWords / sizeof kWords[0] ? kWords[said] : "nonsense");
  fails(name);
  return is_due;
}

static int heard_is_due;
static void hear(const struct ibv_wc* completion) {
  if (completion->opcode != IBV_WC_RECV || completion->status != IBV_WC_SUCCESS) return;
  for (unsigned at = 0; at < kMaxBuffers; ++at)
    if (buffers[at].address != 0 && buffers[at].number == completion->wr_id)
      heard_is_due |=
          at_datagram("hear", (const unsigned char*)(uintptr_t)buffers[at].address + kGrh);
  if (heard_is_due) is_due = 0; /* not before the library has heard it */
}
static void heard(void) {
  if (heard_is_due) end_process();
  heard_is_due = 0;
}

/* Gives a function's name without "ibv_". */
#define SHORT(name) (&(#name)[strncmp(#name, "ibv_", 4) == 0 ? 4 : 0])
/* Defines `real`, a pointer to the adapter's function of that name. */
#define REAL(result, name, parameters) \
  result(*real) parameters;            \
  *(void**)&real = dlsym(RTLD_NEXT, #name)

/* Returns the result of the adapter's function. */
#define RETURN(type, call)    \
  do {                        \
    type const result = call; \
    done();                   \
    return result;            \
  } while (0)

/* Defines a function that returns a pointer, or null with errno. */
#define MAKES(result, name, parameters, arguments) \
  result name parameters {                         \
    if (fails(SHORT(name))) return NULL;           \
    REAL(result, name, parameters);                \
    RETURN(result, real arguments);                \
  }
/* Defines a function that returns 0, or an errno. */
#define RETURNS(name, parameters, arguments)     \
  int name parameters {                          \
    if (fails(SHORT(name))) return error_number; \
    REAL(int, name, parameters);                 \
    RETURN(int, real arguments);                 \
  }
/* Defines a function that destroys. If it fails, here or in the adapter, the caller may not free
 * the object. */
#define DESTROYS(name, type)                                            \
  int name(type* object) {                                              \
    REAL(int, name, (type*));                                           \
    const int error = fails(SHORT(name)) ? error_number : real(object); \
    if (error != 0) keep(object);                                       \
    RETURN(int, error);                                                 \
  }
/* Defines a function that returns 0, or -1 with errno. */
#define ANSWERS(name, parameters, arguments) \
  int name parameters {                      \
    if (fails(SHORT(name))) return -1;       \
    REAL(int, name, parameters);             \
    RETURN(int, real arguments);             \
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
struct ibv_qp* ibv_create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* attributes) {
  if (fails("create_qp")) return NULL;
  REAL(struct ibv_qp*, ibv_create_qp, (struct ibv_pd*, struct ibv_qp_init_attr*));
  if (attributes->qp_type == IBV_QPT_UD)
    datagram_queues[datagram_queue_count++ % kMaxPorts] = attributes->recv_cq;
  RETURN(struct ibv_qp*, real(pd, attributes));
}
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
  RETURN(int, real(qp, attributes, mask));
}

/* Functions of tasks. */

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

/* Functions that are called through a context's tables. */

static struct verbs_context tables; /* of the adapter; all its contexts have the same functions */

static int poll_cq(struct ibv_cq* queue, int most, struct ibv_wc* completions) {
  if (fails("poll_cq")) return -1;
  const int of_datagrams = (counts || ends != kNot) && is_of_datagrams(queue);
  if (of_datagrams) heard(); /* what was shown last */
  const int count = tables.context.ops.poll_cq(queue, of_datagrams ? 1 : most, completions);
  if (of_datagrams && count == 1) hear(completions);
  done();
  return count;
}
static int req_notify_cq(struct ibv_cq* queue, int solicited_only) {
  if (fails("req_notify_cq")) return error_number;
  RETURN(int, tables.context.ops.req_notify_cq(queue, solicited_only));
}
static int post_send(struct ibv_qp* qp, struct ibv_send_wr* first, struct ibv_send_wr** bad) {
  *bad = first;
  if (fails("post_send")) return error_number;
  if ((counts || ends != kNot) && qp->qp_type == IBV_QPT_UD)
    at_datagram("say", (const unsigned char*)(uintptr_t)first->sg_list->addr);
  RETURN(int, tables.context.ops.post_send(qp, first, bad));
}
static int post_recv(struct ibv_qp* qp, struct ibv_recv_wr* first, struct ibv_recv_wr** bad) {
  *bad = first;
  if (fails("post_recv")) return error_number;
  if (qp->qp_type == IBV_QPT_UD) note_buffer(first);
  RETURN(int, tables.context.ops.post_recv(qp, first, bad));
}
static int post_srq_recv(struct ibv_srq* queue, struct ibv_recv_wr* first,
                         struct ibv_recv_wr** bad) {
  *bad = first;
  if (fails("post_srq_recv")) return error_number;
  RETURN(int, tables.context.ops.post_srq_recv(queue, first, bad));
}
static int query_port(struct ibv_context* context, uint8_t number, struct ibv_port_attr* port,
                      size_t size) {
  if (fails("query_port")) return error_number;
  RETURN(int, tables.query_port(context, number, port, size));
}
static struct ibv_xrcd* open_xrcd(struct ibv_context* context,
                                  struct ibv_xrcd_init_attr* attributes) {
  if (fails("open_xrcd")) return NULL;
  RETURN(struct ibv_xrcd*, tables.open_xrcd(context, attributes));
}
static int close_xrcd(struct ibv_xrcd* domain) {
  const int error = fails("close_xrcd") ? error_number : tables.close_xrcd(domain);
  if (error != 0) keep(domain);
  RETURN(int, error);
}
static struct ibv_srq* create_srq_ex(struct ibv_context* context,
                                     struct ibv_srq_init_attr_ex* attributes) {
  if (fails("create_srq_ex")) return NULL;
  RETURN(struct ibv_srq*, tables.create_srq_ex(context, attributes));
}
static struct ibv_qp* create_qp_ex(struct ibv_context* context,
                                   struct ibv_qp_init_attr_ex* attributes) {
  const int receives = attributes->qp_type == IBV_QPT_XRC_RECV;
  if (fails(receives ? "create_qp_ex_recv" : "create_qp_ex_send")) return NULL;
  RETURN(struct ibv_qp*, tables.create_qp_ex(context, attributes));
}
static struct ibv_qp* open_qp(struct ibv_context* context, struct ibv_qp_open_attr* attributes) {
  if (fails("open_qp")) return NULL;
  RETURN(struct ibv_qp*, tables.open_qp(context, attributes));
}
static int get_srq_num(struct ibv_srq* queue, uint32_t* number) {
  if (fails("get_srq_num")) return error_number;
  RETURN(int, tables.get_srq_num(queue, number));
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
  if (tables.open_xrcd != NULL) all->open_xrcd = open_xrcd;
  all->close_xrcd = close_xrcd;
  all->create_srq_ex = create_srq_ex;
  all->create_qp_ex = create_qp_ex;
  if (tables.open_qp != NULL) all->open_qp = open_qp;
  all->get_srq_num = get_srq_num;
  return context;
}
