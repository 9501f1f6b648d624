// Common parts of the verbs programs of the tests: a device, and queue pairs that are connected by
// words of a line. Every failure ends the program, and it says what failed.
#pragma once

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(holds)                                                           \
  do {                                                                         \
    if (!(holds)) {                                                            \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #holds, strerror(errno)); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct ibv_context* open_first(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  CHECK(list != NULL && list[0] != NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  CHECK(context != NULL);
  ibv_free_device_list(list);
  return context;
}

// The address of a queue pair: its number, and the port's GID as 32 hexadecimal digits.
struct address {
  uint32_t qpn;
  union ibv_gid gid;
};

static inline void gid_words(const union ibv_gid* gid, char words[33]) {
  for (int i = 0; i < 16; ++i)
    sprintf(words + 2 * i, "%02x", gid->raw[i]);
}
static inline union ibv_gid gid_of(const char* words) {
  union ibv_gid gid;
  for (int i = 0; i < 16; ++i) {
    unsigned byte = 0;
    CHECK(sscanf(words + 2 * i, "%2x", &byte) == 1);
    gid.raw[i] = (uint8_t)byte;
  }
  return gid;
}

// Moves the queue pair to ready-to-send; an XRC target only to ready-to-receive.
static inline void connect_to(struct ibv_qp* qp, const struct address* other) {
  struct ibv_qp_attr a;
  memset(&a, 0, sizeof a);
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  CHECK(ibv_modify_qp(qp, &a,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_4096;
  a.dest_qp_num = other->qpn;
  a.min_rnr_timer = 1;
  a.max_dest_rd_atomic = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.dgid = other->gid;
  a.ah_attr.grh.hop_limit = 1;
  a.ah_attr.port_num = 1;
  CHECK(ibv_modify_qp(qp, &a,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  if (qp->qp_type == IBV_QPT_XRC_RECV) return;
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;  // 67 ms
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.max_rd_atomic = 1;
  CHECK(ibv_modify_qp(qp, &a,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}
