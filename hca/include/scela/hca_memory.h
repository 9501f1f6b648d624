/* Memory that a program shares with the adapter (docs/design/hca.md, "Shared pools"). The adapter
 * moves bytes in and out of it by copying them, without a system call. This works whether the
 * program runs or is stopped, and even if the kernel denies the adapter access to programs' memory.
 *
 * A program that already has such memory registers it by ibv_reg_dmabuf_mr. It passes the
 * descriptor of a memfd (memfd_create) that is sealed against shrinking (F_SEAL_SHRINK).
 *
 * libscela-ibverbs.so.1 provides this, for its device. Any thread may call. */
#ifndef SCELA_HCA_MEMORY_H
#define SCELA_HCA_MEMORY_H

#include <infiniband/verbs.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `length` bytes of zeros, 1 or more, and registers them with these access rights
 * (ibv_reg_mr(3)). They begin at mr->addr, a multiple of the page size. ibv_dereg_mr ends the
 * registration and frees them. A process has at most 256 such pieces of memory, of 16 GiB together.
 *
 *   struct ibv_mr* mr = scela_hca_alloc_mr(pd, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
 *   if (mr == NULL) return report(strerror(errno));
 *   memset(mr->addr, 1, mr->length);
 *   ibv_dereg_mr(mr);
 *
 * Returns NULL and sets errno if it fails:
 *   EINVAL      the length is 0, or the rights do not go together
 *   EOPNOTSUPP  the adapter does not know one of the rights
 *   ENOMEM      there is no memory, or the adapter shares no more
 *   EMFILE      the adapter, or this user, may hold no more descriptors
 *   EIO         the adapter's engine has gone */
struct ibv_mr* scela_hca_alloc_mr(struct ibv_pd* pd, size_t length, int access);

#ifdef __cplusplus
}
#endif
#endif
