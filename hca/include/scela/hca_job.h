/* A program tells the adapter with these functions to which node of which job it belongs. It must
 * do so under the launcher of an MPI library or of a batch system, where no agent of ScELA has done
 * it (docs/guide/run-verbs-programs.md, examples/verbs_pmi.c). Under scela-run the agents have done
 * it already, and a program may repeat it. So one program runs under all launchers.
 *
 * Engines of different nodes exchange data only after they have proved that they know the job's
 * key. So one process draws a key (getrandom). The others learn it through the exchange that their
 * launcher offers (PMI, PMIx). Every process then describes its node with it before it opens the
 * device. Any process that can read that exchange learns the key.
 *
 *   struct scela_hca_job job = {0};   (in C++: scela_hca_job job{};)
 *   job.name = name;
 *   job.node = node;
 *   job.nodes = nodes;
 *   memcpy(job.key, key, sizeof job.key);
 *   int error = scela_hca_join(&job);
 *
 * libscela-ibverbs.so.1 provides this, for its device. Any thread may call. */
#ifndef SCELA_HCA_JOB_H
#define SCELA_HCA_JOB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SCELA_HCA_KEY_BYTES = 32 };

/* A program starts with a structure of zeros, as above or by memset. A member that it does not set
 * is 0, and so are members that later versions add. */
struct scela_hca_job {
  /* The job's name, the same on all nodes: 1 to 255 bytes without spaces and newlines. */
  const char* name;
  unsigned char key[SCELA_HCA_KEY_BYTES]; /* random, and the same on all nodes */
  uint32_t node;                          /* number of this node, from 0 */
  uint32_t nodes;                         /* number of nodes, 1 to 24575 */
  /* The IPv4 address at which the other nodes reach this one, in numbers ("192.0.2.4"). The name of
   * an interface that is up ("ib0") stands for its first address. If this is null,
   * SCELA_HCA_ADDRESS in the environment names either. Otherwise it is the first address of an
   * interface that is up and not the loopback, in the system's order (ip -4 addr). If there is
   * none, it is 127.0.0.1. If other nodes do not reach the address that was found (for example that
   * of a bridge for containers), set another. */
  const char* address;
  /* If this is not 0, all data between nodes is encrypted. It is also encrypted if
   * SCELA_HCA_ENCRYPT=yes was in the environment of the engine, or if another node asks for it. */
  int encrypt;
};

/* Every process of the node calls this before it opens the device, with the same values. It copies
 * them, and blocks until the engine has answered; it waits for no other node. The first call starts
 * the node's engine. Each job name and node has its own, unless SCELA_HCA_SOCKET says where it is.
 * Afterwards ibv_open_device opens that engine's device, and the GIDs of its ports lead to it from
 * all nodes of the job. The engine stays until the last of these processes has ended.
 *
 * A second call with the same values changes nothing, unless the engine has died. Then the call
 * starts the next engine, and tells it the same; so does the next ibv_open_device. The ports of
 * that engine have other GIDs.
 *
 * If the engine's starter has told it of its job, as under scela-run, that counts. The values must
 * then be valid and are otherwise ignored, except the wish to encrypt. The node's number, its LID
 * and its GID are then those that the engine was told: query the device for them.
 *
 * Returns 0, or an errno:
 *   EINVAL         a value is invalid
 *   EEXIST         this process, or another one of the node, has given other values before; or
 *                  the engine was told by an agent, and has already sent data unencrypted, which
 *                  `encrypt` asks to encrypt
 *   EBUSY          this process, or one that the engine serves already, has opened the device
 *   EADDRNOTAVAIL  the engine cannot listen at the address
 *   else           the engine cannot be reached or started
 * Except for EEXIST from this process, EBUSY of this process and a null `job`, a line on the
 * standard error says more. */
int scela_hca_join(const struct scela_hca_job* job);

#ifdef __cplusplus
}
#endif
#endif
