/* What shared pools save: RDMA writes between two programs by the software adapter, in turns with
 * the memory of both in pools (scela/hca_memory.h), of one, and of none, beside a bare
 * process_vm_writev by the program itself.
 *
 *   verbs_pools [ROUNDS]
 *
 * Run as SCELA_HCA=<build>/bin/scela-hca build-release/bench/verbs_pools. Prints for 8 bytes,
 * 64 KiB and 1 MiB the median time from the post to the completion, the first quartile and the
 * least, in microseconds. Exit status 0, or 2 with one line on standard error.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hca/include/scela/hca_memory.h"

enum {
  max_bytes = 1 << 20,
  kinds = 5,
  bare = 4, /* the last kind: not by the adapter */
  rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
};

struct end {
  uint32_t qpn;
  uint16_t lid;
  uint64_t address[2]; /* plain, pool */
  uint32_t key[2];
};

static pid_t child;

static void die(const char* what) {
  perror(what);
  if (child > 0) kill(child, SIGKILL);
  exit(2);
}

static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct ibv_mr* memory[2];

static struct end open_end(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) die("ibv_get_device_list");
  struct ibv_context* context = ibv_open_device(list[0]);
  if (context == NULL) die("ibv_open_device");
  struct ibv_pd* pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  if (pd == NULL || cq == NULL) die("ibv_create_cq");
  struct ibv_qp_init_attr made = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {16, 16, 1, 1, 0}};
  qp = ibv_create_qp(pd, &made);
  if (qp == NULL) die("ibv_create_qp");
  void* plain = aligned_alloc(4096, max_bytes);
  if (plain == NULL) die("aligned_alloc");
  memset(plain, 1, max_bytes);
  memory[0] = ibv_reg_mr(pd, plain, max_bytes, rights);
  memory[1] = scela_hca_alloc_mr(pd, max_bytes, rights);
  if (memory[0] == NULL || memory[1] == NULL) die("register memory");
  struct ibv_port_attr port;
  if (ibv_query_port(context, 1, &port) != 0) die("ibv_query_port");
  struct end end = {.qpn = qp->qp_num, .lid = port.lid};
  for (int i = 0; i < 2; ++i) {
    end.address[i] = (uintptr_t)memory[i]->addr;
    end.key[i] = memory[i]->rkey;
  }
  return end;
}

static void connect_to(const struct end* other) {
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights};
  if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
      0)
    die("to INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_4096;
  a.dest_qp_num = other->qpn;
  a.min_rnr_timer = 12;
  a.ah_attr.dlid = other->lid;
  a.ah_attr.port_num = 1;
  if (ibv_modify_qp(qp, &a,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    die("to RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  if (ibv_modify_qp(qp, &a,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    die("to RTS");
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double write_once(const struct end* other, int from, int to, uint32_t bytes) {
  struct ibv_sge sge = {(uintptr_t)memory[from]->addr, bytes, memory[from]->lkey};
  struct ibv_send_wr wr = {
      .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  wr.wr.rdma.remote_addr = other->address[to];
  wr.wr.rdma.rkey = other->key[to];
  struct ibv_send_wr* bad;
  struct ibv_wc wc;
  const double begun = now_us();
  if (ibv_post_send(qp, &wr, &bad) != 0) die("ibv_post_send");
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  if (wc.status != IBV_WC_SUCCESS) die(ibv_wc_status_str(wc.status));
  return now_us() - begun;
}

/* False: the kernel refuses it. */
static bool write_bare(const struct end* other, uint32_t bytes, double* took) {
  struct iovec from = {memory[0]->addr, bytes};
  struct iovec to = {(void*)(uintptr_t)other->address[0], bytes};
  const double begun = now_us();
  const ssize_t moved = process_vm_writev(child, &from, 1, &to, 1, 0);
  *took = now_us() - begun;
  if (moved < 0 && (errno == EPERM || errno == ENOSYS)) return false;
  if (moved != (ssize_t)bytes) die("process_vm_writev");
  return true;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure(const struct end* other, int rounds, uint32_t bytes) {
  static const char* const names[kinds] = {"no pool", "into a pool", "out of a pool",
                                           "between pools", "bare"};
  double* times[kinds];
  for (int k = 0; k < kinds; ++k)
    if ((times[k] = malloc(sizeof(double) * (size_t)rounds)) == NULL) die("malloc");
  bool has_bare = true;
  for (int i = -20; i < rounds; ++i) {
    for (int k = 0; k < bare; ++k) {
      const double took = write_once(other, k >> 1, k & 1, bytes);
      if (i >= 0) times[k][i] = took;
    }
    double took = 0;
    has_bare = has_bare && write_bare(other, bytes, &took);
    if (i >= 0) times[bare][i] = took;
  }
  for (int k = 0; k < (has_bare ? kinds : bare); ++k) {
    qsort(times[k], (size_t)rounds, sizeof(double), by_value);
    printf("%7u bytes, %-13s: %.2f %.2f %.2f\n", bytes, names[k], times[k][rounds / 2],
           times[k][rounds / 4], times[k][0]);
  }
  for (int k = 0; k < kinds; ++k)
    free(times[k]);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 2000;
  if (rounds < 1) return fprintf(stderr, "usage: verbs_pools [ROUNDS]\n"), 2;
  int up[2], down[2];
  if (pipe(up) != 0 || pipe(down) != 0) die("pipe");
  child = fork();
  if (child < 0) die("fork");
  struct end other;
  if (child == 0) {
    close(up[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct end mine = open_end();
    if (write(up[1], &mine, sizeof mine) != sizeof mine) die("write");
    if (read(down[0], &other, sizeof other) != sizeof other) die("read");
    connect_to(&other);
    if (write(up[1], "", 1) != 1) die("write");
    pause();
    return 2;
  }
  close(up[1]); /* its end is seen */
  if (read(up[0], &other, sizeof other) != sizeof other) die("the other program");
  const struct end mine = open_end();
  char byte;
  if (write(down[1], &mine, sizeof mine) != sizeof mine || read(up[0], &byte, 1) != 1)
    die("the other program");
  connect_to(&other);
  measure(&other, rounds, 8);
  measure(&other, rounds, 64 << 10);
  measure(&other, rounds, max_bytes);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}
