/* The software adapter, as a device that has no shared receive queues. All functions that are not
 * defined here come from the library that this one is linked to. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>

struct ibv_srq* ibv_create_srq(struct ibv_pd* pd, struct ibv_srq_init_attr* attributes) {
  (void)pd;
  (void)attributes;
  errno = EOPNOTSUPP;
  return NULL;
}
