/* A program of a user's that links the C libraries of the package. Started alone, it is a job of one
 * rank. */
#include <errno.h>
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>

#include <scela/hca_job.h>
#include <scela/hca_memory.h>
#include <scela/pmi_ext.h>
#include <scela/verbs_ext.h>

/* These need a device, so the program only links them. */
struct ibv_mr* (*allocate)(struct ibv_pd*, size_t, int) = scela_hca_alloc_mr;
int (*post)(struct ibv_qp*, struct scela_task*, struct scela_task**) = scela_post_task;

int main(void) {
  int spawned = 0, rank = -1, size = -1;
  if (PMI_Init(&spawned) != PMI_SUCCESS || PMI_Get_rank(&rank) != PMI_SUCCESS ||
      PMI_Get_size(&size) != PMI_SUCCESS || PMI2_Initialized())
    return 1;
  printf("rank %d of %d\n", rank, size);
  if (SCELA_PMI_Rank_failed(0) || PMI_Finalize() != PMI_SUCCESS) return 1;
  return scela_hca_join(NULL) == EINVAL && allocate && post ? 0 : 1;
}
