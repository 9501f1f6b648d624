// One of many processes on several nodes, each connected with all: verbs_mesh MODE RANK RANKS NODES
// FILE
//
// Rank r is on node r % NODES. MODE xrc: each process has one connection to each node. All
// processes of the node receive by it, each on a queue of its own, which is known by its number.
// The process r % (RANKS / NODES) of that node makes the target of rank r's connection. FILE names
// the domain. MODE rc: a connection with each process, and one receive queue for all of them.
//
// Prints a line for each thing that others must know, then "told", and reads the lines of all
// processes, then "told". Then it sends a message to each, awaits one of each, and prints "done".
// It ends when it reads a line.
#include "tests/interop/programs/verbs/verbs_steps.h"

#include <fcntl.h>

enum { MOST = 128 };

static unsigned rank, ranks, nodes, is_xrc;
static union ibv_gid gid;
static char gid_text[33];
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_srq* srq;
static struct ibv_xrcd* xrcd;
static struct ibv_mr* mr;
static uint32_t received[MOST];         // a message of each rank
static struct ibv_qp* sending[MOST];    // by node, or by rank
static struct ibv_qp* targets[MOST];    // XRC: by the rank that sends
static struct address of_sender[MOST];  // XRC: the rank's queue pair towards this node
static struct address of_target[MOST];  // XRC: this rank's target on each node; RC: by rank
static uint32_t srq_of[MOST];

// Returns the rank of the process that makes the target of a rank's connection to a node.
static unsigned keeper(unsigned node, unsigned of) {
  return of % (ranks / nodes) * nodes + node;
}
static unsigned node_of(unsigned of) {
  return of % nodes;
}

static void make_queues(const char* domain) {
  context = open_first();
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 4 * (int)ranks, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, received, sizeof received, IBV_ACCESS_LOCAL_WRITE);
  CHECK(pd != NULL && cq != NULL && mr != NULL);
  CHECK(ibv_query_gid(context, 1, 0, &gid) == 0);
  gid_words(&gid, gid_text);
  struct ibv_srq_init_attr_ex attributes = {
      .attr = {.max_wr = ranks, .max_sge = 1},
      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
      .srq_type = IBV_SRQT_BASIC,
      .pd = pd};
  if (is_xrc) {
    struct ibv_xrcd_init_attr of = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                                    .fd = open(domain, O_RDONLY | O_CREAT, 0600),
                                    .oflags = O_CREAT};
    CHECK(of.fd >= 0);
    xrcd = ibv_open_xrcd(context, &of);
    CHECK(xrcd != NULL);
    attributes.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    attributes.srq_type = IBV_SRQT_XRC;
    attributes.xrcd = xrcd;
    attributes.cq = cq;
  }
  srq = ibv_create_srq_ex(context, &attributes);
  CHECK(srq != NULL);
  if (is_xrc) CHECK(ibv_get_srq_num(srq, &srq_of[rank]) == 0);
  for (unsigned i = 0; i < ranks; ++i) {
    struct ibv_sge part = {(uintptr_t)&received[i], sizeof received[i], mr->lkey};
    struct ibv_recv_wr request = {.sg_list = &part, .num_sge = 1}, *bad = NULL;
    CHECK(ibv_post_srq_recv(srq, &request, &bad) == 0);
  }
}

static struct ibv_qp* make_qp(enum ibv_qp_type type) {
  struct ibv_qp_init_attr_ex attributes = {
      .qp_type = type,
      .cap = {.max_send_wr = type == IBV_QPT_RC ? 4 : 4 * (ranks / nodes),
              .max_send_sge = 1,
              .max_inline_data = 8},
      .comp_mask = IBV_QP_INIT_ATTR_PD,
      .pd = pd};
  if (type == IBV_QPT_XRC_RECV) {
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = xrcd;
    memset(&attributes.cap, 0, sizeof attributes.cap);
  } else {
    attributes.send_cq = cq;
    if (type == IBV_QPT_RC) {
      attributes.recv_cq = cq;
      attributes.srq = srq;
    }
  }
  struct ibv_qp* const qp = ibv_create_qp_ex(context, &attributes);
  CHECK(qp != NULL);
  return qp;
}

// Lines: "s RANK SRQ" a rank's receive queue; "x RANK NODE QPN GID" its queue pair towards a node;
// "t RANK NODE QPN GID" the target of that; "r RANK OTHER QPN GID" its queue pair for another rank.
static void tell(void) {
  if (is_xrc) {
    printf("s %u %u\n", rank, srq_of[rank]);
    for (unsigned node = 0; node < nodes; ++node) {
      sending[node] = make_qp(IBV_QPT_XRC_SEND);
      printf("x %u %u %u %s\n", rank, node, sending[node]->qp_num, gid_text);
    }
    for (unsigned of = 0; of < ranks; ++of)
      if (keeper(node_of(rank), of) == rank) {
        targets[of] = make_qp(IBV_QPT_XRC_RECV);
        printf("t %u %u %u %s\n", of, node_of(rank), targets[of]->qp_num, gid_text);
      }
  } else {
    for (unsigned of = 0; of < ranks; ++of) {
      if (of == rank) continue;
      sending[of] = make_qp(IBV_QPT_RC);
      printf("r %u %u %u %s\n", rank, of, sending[of]->qp_num, gid_text);
    }
  }
  puts("told");
  fflush(stdout);
}

static void hear(void) {
  char line[256], words[33];
  while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "told\n") != 0) {
    unsigned of, at, number;
    if (sscanf(line, "s %u %u", &of, &number) == 2) {
      srq_of[of] = number;
      continue;
    }
    CHECK(sscanf(line + 1, "%u %u %u %32s", &of, &at, &number, words) == 4 && of < MOST);
    const struct address found = {number, gid_of(words)};
    if (line[0] == 'x' && at == node_of(rank)) of_sender[of] = found;
    if (line[0] == 't' && of == rank) of_target[at] = found;
    if (line[0] == 'r' && at == rank) of_target[of] = found;
  }
  for (unsigned i = 0; i < ranks; ++i) {
    if (sending[i] != NULL) connect_to(sending[i], &of_target[i]);
    if (targets[i] != NULL) connect_to(targets[i], &of_sender[i]);
  }
}

static void send_to(unsigned other) {
  uint32_t word = rank + 1;
  struct ibv_sge part = {(uintptr_t)&word, sizeof word, 0};
  struct ibv_send_wr request = {.sg_list = &part,
                                .num_sge = 1,
                                .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE},
                     *bad = NULL;
  request.qp_type.xrc.remote_srqn = srq_of[other];
  CHECK(ibv_post_send(sending[is_xrc ? node_of(other) : other], &request, &bad) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 6);
  is_xrc = strcmp(argv[1], "xrc") == 0;
  rank = (unsigned)atoi(argv[2]);
  ranks = (unsigned)atoi(argv[3]);
  nodes = (unsigned)atoi(argv[4]);
  CHECK(ranks <= MOST && nodes > 0 && ranks % nodes == 0 && rank < ranks);
  make_queues(argv[5]);
  tell();
  hear();
  puts("connected");
  fflush(stdout);
  CHECK(getchar() == '\n');  // all processes are connected
  for (unsigned other = 0; other < ranks; ++other)
    if (other != rank) send_to(other);
  for (unsigned left = 2 * (ranks - 1); left > 0;) {
    struct ibv_wc completion;
    const int count = ibv_poll_cq(cq, 1, &completion);
    CHECK(count >= 0);
    if (count == 1 && completion.status != IBV_WC_SUCCESS)
      fprintf(stderr, "%s\n", ibv_wc_status_str(completion.status));
    CHECK(count == 0 || completion.status == IBV_WC_SUCCESS);
    left -= (unsigned)count;
  }
  // One message of each other rank comes, in any order, and a buffer is left.
  char came[MOST] = {0};
  unsigned from = 0;
  for (unsigned i = 0; i < ranks; ++i) {
    if (received[i] == 0) continue;
    CHECK(received[i] <= ranks && received[i] != rank + 1 && !came[received[i] - 1]);
    came[received[i] - 1] = 1;
    ++from;
  }
  CHECK(from == ranks - 1);
  puts("done");
  fflush(stdout);
  CHECK(getchar() == '\n');
  return 0;
}
