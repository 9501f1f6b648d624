/* How a program tells the adapter to which node of which job it belongs, where no agent of ScELA
 * has done so: under the launcher of an MPI library, or of a batch system (docs/hca.md,
 * examples/verbs_pmi.c).
 *
 * Engines of different nodes speak to each other only if they have proved the job's key. So one
 * process draws a key, which the others learn by what their launcher gives them to tell each other
 * (PMI, PMIx), and every process says the same of its node before it opens the device. Whoever can
 * read what processes publish there learns the key.
 *
 * Of libscela-ibverbs.so.1, for its device. */
#ifndef SCELA_HCA_JOB_H
#define SCELA_HCA_JOB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SCELA_HCA_KEY_BYTES = 32 };

/* What is not said is 0. */
struct scela_hca_job {
  const char* name; /* of the job: the same on all nodes, 1 to 255 characters without spaces */
  unsigned char key[SCELA_HCA_KEY_BYTES]; /* random, and the same on all nodes */
  uint32_t node;                          /* this one's number, from 0 */
  uint32_t nodes;                         /* how many there are: 1 to 24575 */
  /* At which IPv4 address, in numbers, the others reach this node. Null: the first one of an
   * interface that is up and not the loopback, or 127.0.0.1 where there is none such. */
  const char* address;
  int encrypt; /* not 0: what goes to other nodes is encrypted, and what comes from them */
};

/* To be called before the device is opened, by every process of the node, with the same words: the
 * first one starts the node's engine, which is its own for each job name and node, unless
 * SCELA_HCA_SOCKET says where it is. Afterwards ibv_open_device opens that engine's device, and the
 * GIDs of its ports lead to it from all nodes of the job. The engine stays until the last of these
 * processes has ended.
 *
 * Returns 0, or an errno:
 *   EINVAL         a word of it cannot be
 *   EEXIST         the engine, or this process, has been told otherwise: another job, key, number
 *                  of this node or of nodes, another wish for encryption; by an agent of ScELA too
 *                  (under scela-run nobody need join)
 *   EBUSY          this process, or one that the engine serves already, has opened the device
 *   EADDRNOTAVAIL  the engine cannot listen at the address
 *   else           the engine cannot be reached or started; a line on the standard error says why
 */
int scela_hca_join(const struct scela_hca_job* job);

#ifdef __cplusplus
}
#endif
#endif
