/* Memory that a program shares with the adapter (docs/hca.md, "Shared pools"): the adapter moves
 * bytes into and out of it by copying them, without a system call, whether the program runs or is
 * stopped, and also where the kernel does not let it at programs' memory.
 *
 * A program that has such memory already registers it by ibv_reg_dmabuf_mr, with the descriptor of
 * a memfd (memfd_create) that is sealed against shrinking (F_SEAL_SHRINK).
 *
 * Of libscela-ibverbs.so.1, for its device. */
#ifndef SCELA_HCA_MEMORY_H
#define SCELA_HCA_MEMORY_H

#include <infiniband/verbs.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `length` bytes of zeros that are registered with these rights (ibv_reg_mr(3)): they begin at
 * mr->addr, a multiple of the page size. ibv_dereg_mr gives them back, with their registration.
 * Null: errno says why. */
struct ibv_mr* scela_hca_alloc_mr(struct ibv_pd* pd, size_t length, int access);

#ifdef __cplusplus
}
#endif
#endif
