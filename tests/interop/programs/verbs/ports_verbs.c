/* The software adapter with a second port that fails, as PORTS_VERBS says:
 *
 *   down       it is not active
 *   deaf       no peer there understands what it receives
 *   breaking   each tenth request for bytes there meets a connection that has ended
 *
 * All functions that are not defined here come from the library that this one is linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxQueuePairs = 1024, kSecond = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const struct ibv_qp* there[kMaxQueuePairs]; /* at the second port */
static unsigned requests;
static int (*real_post)(struct ibv_qp*, struct ibv_send_wr*, struct ibv_send_wr**);
static int (*real_query)(struct ibv_context*, uint8_t, struct ibv_port_attr*, size_t);

static int is(const char* what) {
  const char* const how = getenv("PORTS_VERBS");
  return how != NULL && strcmp(how, what) == 0;
}

static int is_there(const struct ibv_qp* qp) {
  int found = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kMaxQueuePairs; ++i)
    found |= there[i] == qp;
  pthread_mutex_unlock(&mutex);
  return found;
}

static void put(const struct ibv_qp* from, const struct ibv_qp* to) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kMaxQueuePairs; ++i) {
    if (there[i] != from) continue;
    there[i] = to;
    break;
  }
  pthread_mutex_unlock(&mutex);
}

int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask) {
  int (*real)(struct ibv_qp*, struct ibv_qp_attr*, int);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_modify_qp");
  if ((mask & IBV_QP_PORT) != 0 && attributes->port_num == kSecond) put(NULL, qp);
  return real(qp, attributes, mask);
}

int ibv_destroy_qp(struct ibv_qp* qp) {
  int (*real)(struct ibv_qp*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_destroy_qp");
  put(qp, NULL);
  return real(qp);
}

static int post(struct ibv_qp* qp, struct ibv_send_wr* request, struct ibv_send_wr** bad) {
  if (!is_there(qp)) return real_post(qp, request, bad);
  if (is("deaf") && qp->qp_type == IBV_QPT_UD) request->wr.ud.remote_qkey += 1;
  const int bytes = request->opcode == IBV_WR_RDMA_WRITE || request->opcode == IBV_WR_RDMA_READ;
  if (is("breaking") && bytes && ++requests % 10 == 0) {
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
  }
  return real_post(qp, request, bad);
}

static int query(struct ibv_context* context, uint8_t port, struct ibv_port_attr* attributes,
                 size_t bytes) {
  const int error = real_query(context, port, attributes, bytes);
  if (error == 0 && port == kSecond && is("down")) attributes->state = IBV_PORT_DOWN;
  return error;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  struct ibv_context* (*real)(struct ibv_device*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_open_device");
  struct ibv_context* const context = real(device);
  if (context == NULL) return NULL;
  if (context->ops.post_send != post) real_post = context->ops.post_send;
  context->ops.post_send = post;
  struct verbs_context* const more = verbs_get_ctx(context);
  if (more != NULL) {
    if (more->query_port != query) real_query = more->query_port;
    more->query_port = query;
  }
  return context;
}
