/* How a program tells the adapter to which node of which job it belongs, where no agent of ScELA
 * has done so: under the launcher of an MPI library, or of a batch system (docs/hca.md,
 * examples/verbs_pmi.c). Under scela-run the agents have told it, and a program may say it all the
 * same: so one program runs under all launchers.
 *
 * Engines of different nodes speak to each other only if they have proved the job's key. So one
 * process draws a key (getrandom), which the others learn by what their launcher gives them to tell
 * each other (PMI, PMIx), and every process says the same of its node before it opens the device.
 * Whoever can read what processes publish there learns the key.
 *
 *   struct scela_hca_job job = {0};   (in C++: scela_hca_job job{};)
 *   job.name = name;
 *   job.node = node;
 *   job.nodes = nodes;
 *   memcpy(job.key, key, sizeof job.key);
 *   int error = scela_hca_join(&job);
 *
 * Of libscela-ibverbs.so.1, for its device. */
#ifndef SCELA_HCA_JOB_H
#define SCELA_HCA_JOB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SCELA_HCA_KEY_BYTES = 32 };

/* Begin with one that is all zeros, as above or by memset: what is not said is 0, also in members
 * that later versions add. */
struct scela_hca_job {
  const char* name; /* of the job: the same on all nodes, 1 to 255 characters without spaces */
  unsigned char key[SCELA_HCA_KEY_BYTES]; /* random, and the same on all nodes */
  uint32_t node;                          /* this one's number, from 0 */
  uint32_t nodes;                         /* how many there are: 1 to 24575 */
  /* At which IPv4 address the others reach this node: in numbers ("192.0.2.4"), or the name of an
   * interface that is up, whose first address it is ("ib0"). Null: what SCELA_HCA_ADDRESS in the
   * environment says in the same words; else the first address of the first interface, in the
   * system's order (ip -4 addr), that is up and not the loopback; else 127.0.0.1. Where that is one
   * which other nodes do not reach, such as a bridge for containers, say another. */
  const char* address;
  /* Not 0: what goes to other nodes is encrypted, and what comes from them; also if 0, where
   * SCELA_HCA_ENCRYPT=yes was in the environment of the engine, or another node says so. */
  int encrypt;
};

/* To be called before the device is opened, by every process of the node, with the same words: the
 * first one starts the node's engine, which is its own for each job name and node, unless
 * SCELA_HCA_SOCKET says where it is. Afterwards ibv_open_device opens that engine's device, and the
 * GIDs of its ports lead to it from all nodes of the job. The engine stays until the last of these
 * processes has ended. To say the same again changes nothing, unless the engine has died: then, as
 * when the device is opened next, the next engine is told, and ports have other GIDs, which lead to
 * it.
 *
 * Where the engine was told of its job by whoever started it, as under scela-run, that counts: the
 * words must be such as can be, and are not looked at further, but for the wish to encrypt. The
 * node's number, its LID and its GID are then those that it was told: ask the device for them.
 *
 * Returns 0, or an errno:
 *   EINVAL         a word of it cannot be
 *   EEXIST         the engine, or this process, has been told otherwise by a program: another job,
 *                  key, number of this node or of nodes, another wish for encryption; or an agent
 *                  has told the engine, what goes between nodes is to be encrypted, and some went
 *                  already that was not
 *   EBUSY          this process, or one that the engine serves already, has opened the device
 *   EADDRNOTAVAIL  the engine cannot listen at the address
 *   else           the engine cannot be reached or started
 * A line on the standard error says more. */
int scela_hca_join(const struct scela_hca_job* job);

#ifdef __cplusplus
}
#endif
#endif
