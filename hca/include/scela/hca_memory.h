/* Memory that a program shares with the adapter (docs/design/hca.md, "Shared pools"). The adapter moves
 * bytes in and out of it by copying them, without a system call. This works whether the program
 * runs or is stopped, and even if the kernel denies the adapter access to programs' memory.
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

/* Allocates `length` bytes of zeros and registers them with these access rights (ibv_reg_mr(3)).
 * They begin at mr->addr, a multiple of the page size. ibv_dereg_mr ends the registration and frees
 * them. Returns NULL and sets errno if it fails. */
struct ibv_mr* scela_hca_alloc_mr(struct ibv_pd* pd, size_t length, int access);

#ifdef __cplusplus
}
#endif
#endif
