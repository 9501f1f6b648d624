/* The software adapter with a port that carries short messages only, and takes no longer ones. All
 * functions that are not defined here come from the library that this one is linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>

enum { kLongest = 20000 };

static int (*real_query)(struct ibv_context*, uint8_t, struct ibv_port_attr*, size_t);
static int (*real_post)(struct ibv_qp*, struct ibv_send_wr*, struct ibv_send_wr**);

static int query_port(struct ibv_context* context, uint8_t number, struct ibv_port_attr* port,
                      size_t size) {
  const int error = real_query(context, number, port, size);
  port->max_msg_sz = kLongest;
  return error;
}

static int post_send(struct ibv_qp* qp, struct ibv_send_wr* first, struct ibv_send_wr** bad) {
  for (struct ibv_send_wr* request = first; request != NULL; request = request->next) {
    uint64_t bytes = 0;
    for (int i = 0; i < request->num_sge; ++i)
      bytes += request->sg_list[i].length;
    if (bytes > kLongest) {
      *bad = request;
      return EINVAL;
    }
  }
  return real_post(qp, first, bad);
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  struct ibv_context* (*real)(struct ibv_device*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_open_device");
  struct ibv_context* const context = real(device);
  if (context == NULL) return NULL;
  struct verbs_context* const all = verbs_get_ctx(context);
  real_query = all->query_port;
  real_post = context->ops.post_send;
  all->query_port = query_port;
  context->ops.post_send = post_send;
  return context;
}
