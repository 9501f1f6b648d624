/* Pairs of processes on different nodes play ping-pong over the software adapter. The program works
 * with all launchers. The interface that it is built for (PMI-1, PMI-2 or PMIx) carries the job's
 * key and then the addresses.
 *
 * Built in ScELA's source tree, against what was built there (cmake --build --preset release):
 *
 *   B=$PWD/build-release/lib
 *   gcc -o verbs_pmi examples/verbs_pmi.c -Ihca/include -Ipmi/client/include -L$B -L$B/scela \
 *     -Wl,-rpath,$B:$B/scela -lscela-ibverbs -lpmi
 *   gcc -DUSE_PMI2 -o verbs_pmi2 examples/verbs_pmi.c -Ihca/include -Ipmi/client/include -L$B \
 *     -L$B/scela -Wl,-rpath,$B:$B/scela -lscela-ibverbs -lpmi2
 *   gcc -DUSE_PMIX -o verbs_pmix examples/verbs_pmi.c -Ihca/include -L$B -Wl,-rpath,$B \
 *     -lscela-ibverbs $(pkg-config --cflags --libs pmix)
 *
 * Installed, the headers are in PREFIX/include and PREFIX/include/scela (pmi/client/include/pmi.h, pmi2.h), the
 * libraries in PREFIX/lib and PREFIX/lib/scela. Then, each on two nodes of this machine:
 *
 *   build-release/bin/scela-run --sim-nodes 2 --ppn 1 ./verbs_pmi --nodes 2
 *   mpiexec.hydra -n 2 ./verbs_pmi --nodes 2
 *   mpirun -n 2 ./verbs_pmix --nodes 2
 *   srun --mpi=pmi2 -n 2 ./verbs_pmi2 --nodes 2
 *
 * Without an agent of ScELA, the adapters do not know their job. So rank 0 draws the job's key and
 * puts it where all ranks can read it, and every rank joins as its node. Under scela-run the agents
 * have named the job already, and joining changes nothing. A process that can read the job's
 * key-value space can read the key.
 *
 * --nodes N: rank r is on node r % N, so that one machine can stand for several; without it, nodes
 * are told apart by their host names. --encrypt: messages between nodes are encrypted.
 * --open-first: the device is opened before the job is named, which is refused. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <scela/hca_job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MESSAGES = 1000, BYTES = 4096, WORD = 256 };

static int rank = -1;
static int size;

static void require(int holds, const char* what) {
  if (holds) return;
  printf("rank %d: cannot %s: %s\n", rank, what, strerror(errno));
  fflush(stdout);
  _exit(1);
}

/* The launcher's interface: every rank can put words, and get them once all ranks have met. */
static void begin(char job[WORD]);
static void put(const char* key, const char* word);
static void meet(void);
static void get(int from, const char* key, char word[WORD]);
static void end(void);

#ifdef USE_PMIX
#include <pmix.h>

static pmix_proc_t me;

static void begin(char job[WORD]) {
  require(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "speak to the launcher");
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  require(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) == PMIX_SUCCESS, "get the job's size");
  rank = (int)me.rank;
  size = (int)value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  snprintf(job, WORD, "%s", me.nspace);
}

static void put(const char* key, const char* word) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, word, PMIX_STRING);
  require(PMIx_Put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS, "put a word");
  PMIX_VALUE_DESTRUCT(&value);
}

static void meet(void) {
  require(PMIx_Commit() == PMIX_SUCCESS, "commit words");
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  require(PMIx_Fence(NULL, 0, &info, 1) == PMIX_SUCCESS, "meet");
  PMIX_INFO_DESTRUCT(&info);
}

static void get(int from, const char* key, char word[WORD]) {
  pmix_proc_t who;
  PMIX_LOAD_PROCID(&who, me.nspace, (pmix_rank_t)from);
  pmix_value_t* value = NULL;
  require(PMIx_Get(&who, key, NULL, 0, &value) == PMIX_SUCCESS, "get a word");
  snprintf(word, WORD, "%s", value->data.string);
  PMIX_VALUE_RELEASE(value);
}

static void end(void) {
  PMIx_Finalize(NULL, 0);
}
#elif defined(USE_PMI2)
#include <pmi2.h>

static char space[WORD];

static void begin(char job[WORD]) {
  int spawned, program;
  require(PMI2_Init(&spawned, &size, &rank, &program) == PMI2_SUCCESS, "speak to the launcher");
  require(PMI2_Job_GetId(space, sizeof space) == PMI2_SUCCESS, "learn of the job");
  snprintf(job, WORD, "%s", space);
}

static void named(char name[WORD], const char* key, int of) {
  snprintf(name, WORD, "%s-%d", key, of);
}

static void put(const char* key, const char* word) {
  char name[WORD];
  named(name, key, rank);
  require(PMI2_KVS_Put(name, word) == PMI2_SUCCESS, "put a word");
}

static void meet(void) {
  require(PMI2_KVS_Fence() == PMI2_SUCCESS, "meet");
}

static void get(int from, const char* key, char word[WORD]) {
  char name[WORD];
  int length;
  named(name, key, from);
  require(PMI2_KVS_Get(space, PMI2_ID_NULL, name, word, WORD, &length) == PMI2_SUCCESS,
          "get a word");
}

static void end(void) {
  PMI2_Finalize();
}
#else
#include <pmi.h>

static char space[WORD];

static void begin(char job[WORD]) {
  int spawned;
  require(PMI_Init(&spawned) == PMI_SUCCESS, "speak to the launcher");
  require(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS &&
              PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS,
          "learn of the job");
  snprintf(job, WORD, "%s", space);
}

static void named(char name[WORD], const char* key, int of) {
  snprintf(name, WORD, "%s-%d", key, of);
}

static void put(const char* key, const char* word) {
  char name[WORD];
  named(name, key, rank);
  require(PMI_KVS_Put(space, name, word) == PMI_SUCCESS, "put a word");
}

static void meet(void) {
  require(PMI_KVS_Commit(space) == PMI_SUCCESS && PMI_Barrier() == PMI_SUCCESS, "meet");
}

static void get(int from, const char* key, char word[WORD]) {
  char name[WORD];
  named(name, key, from);
  require(PMI_KVS_Get(space, name, word, WORD) == PMI_SUCCESS, "get a word");
}

static void end(void) {
  PMI_Finalize();
}
#endif

static void put_bytes(const char* key, const unsigned char* bytes, int count) {
  char word[WORD];
  for (int i = 0; i < count; ++i)
    snprintf(word + 2 * i, 3, "%02x", bytes[i]);
  put(key, word);
}

static void get_bytes(int from, const char* key, unsigned char* bytes, int count) {
  char word[WORD];
  get(from, key, word);
  for (int i = 0; i < count; ++i)
    require(sscanf(word + 2 * i, "%2hhx", &bytes[i]) == 1, "read a word");
}

/* Nodes are numbered in the order of their first ranks. */
static void number_nodes(int pretended, struct scela_hca_job* job) {
  char mine[WORD] = "", other[WORD];
  if (pretended > 0) {
    snprintf(mine, sizeof mine, "%d", rank % pretended);
  } else {
    require(gethostname(mine, sizeof mine - 1) == 0, "learn the host's name");
  }
  put("host", mine);
  meet();
  char(*first)[WORD] = calloc((size_t)size, WORD);
  require(first != NULL, "have memory");
  for (int from = 0; from < size; ++from) {
    uint32_t node = 0;
    get(from, "host", other);
    while (node < job->nodes && strcmp(first[node], other) != 0)
      ++node;
    if (node == job->nodes) memcpy(first[job->nodes++], other, WORD);
    if (strcmp(mine, other) == 0) job->node = node;
  }
  free(first);
}

struct end_of_queue {
  struct ibv_context* device;
  struct ibv_mr* memory;
  struct ibv_cq *sent, *received;
  struct ibv_qp* queue;
  unsigned char bytes[2][BYTES]; /* sent, received */
};

static void receive_next(struct end_of_queue* mine) {
  struct ibv_sge where = {(uintptr_t)mine->bytes[1], BYTES, mine->memory->lkey};
  struct ibv_recv_wr request = {.sg_list = &where, .num_sge = 1};
  struct ibv_recv_wr* bad;
  require(ibv_post_recv(mine->queue, &request, &bad) == 0, "post a receive request");
}

static void wait_for(struct ibv_cq* queue) {
  struct ibv_wc found;
  int count;
  while ((count = ibv_poll_cq(queue, 1, &found)) == 0) {
  }
  if (count == 1 && found.status != IBV_WC_SUCCESS)
    printf("rank %d: %s\n", rank, ibv_wc_status_str(found.status));
  require(count == 1 && found.status == IBV_WC_SUCCESS, "complete a request");
}

static void send_one(struct end_of_queue* mine) {
  struct ibv_sge what = {(uintptr_t)mine->bytes[0], BYTES, mine->memory->lkey};
  struct ibv_send_wr request = {
      .sg_list = &what, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad;
  require(ibv_post_send(mine->queue, &request, &bad) == 0, "post a message");
  wait_for(mine->sent);
}

static void open_end(struct end_of_queue* mine) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  require(devices != NULL && devices[0] != NULL, "find the device");
  mine->device = ibv_open_device(devices[0]);
  require(mine->device != NULL, "open the device");
  ibv_free_device_list(devices);
  struct ibv_pd* domain = ibv_alloc_pd(mine->device);
  require(domain != NULL, "have a domain");
  mine->memory = ibv_reg_mr(domain, mine->bytes, sizeof mine->bytes, IBV_ACCESS_LOCAL_WRITE);
  mine->sent = ibv_create_cq(mine->device, 4, NULL, NULL, 0);
  mine->received = ibv_create_cq(mine->device, 4, NULL, NULL, 0);
  require(mine->memory && mine->sent && mine->received, "have memory and queues");
  struct ibv_qp_init_attr first = {
      .send_cq = mine->sent, .recv_cq = mine->received, .qp_type = IBV_QPT_RC};
  first.cap.max_send_wr = first.cap.max_recv_wr = 2;
  first.cap.max_send_sge = first.cap.max_recv_sge = 1;
  mine->queue = ibv_create_qp(domain, &first);
  require(mine->queue != NULL, "have a queue pair");
}

static void connect_end(struct end_of_queue* mine, const union ibv_gid* gid, uint32_t number) {
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  require(ibv_modify_qp(mine->queue, &to,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "begin a queue pair");
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_4096;
  to.dest_qp_num = number;
  to.min_rnr_timer = 12;
  to.ah_attr.is_global = 1;
  to.ah_attr.grh.dgid = *gid;
  to.ah_attr.grh.hop_limit = 1;
  to.ah_attr.port_num = 1;
  require(ibv_modify_qp(mine->queue, &to,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "connect a queue pair");
  to.qp_state = IBV_QPS_RTS;
  to.timeout = 14;
  to.retry_cnt = 7;
  to.rnr_retry = 7;
  require(ibv_modify_qp(mine->queue, &to,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "ready a queue pair");
}

/* The even rank begins; each message is one more than the one that it answers. A rank posts the
 * receive of the answer before it sends. */
static void play(struct end_of_queue* mine) {
  const int begins = rank % 2 == 0;
  for (int turn = 0; turn < MESSAGES; ++turn) {
    const unsigned char expected = (unsigned char)(2 * turn + begins);
    if (begins) {
      memset(mine->bytes[0], 2 * turn, BYTES);
      send_one(mine);
    }
    wait_for(mine->received);
    for (int i = 0; i < BYTES; ++i)
      require(mine->bytes[1][i] == expected, "find what was sent");
    if (turn + 1 < MESSAGES) receive_next(mine);
    if (begins) continue;
    memset(mine->bytes[0], 2 * turn + 1, BYTES);
    send_one(mine);
  }
}

int main(int argc, char** argv) {
  struct scela_hca_job job = {0};
  int pretended = 0, open_first = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--encrypt") == 0) job.encrypt = 1;
    if (strcmp(argv[i], "--open-first") == 0) open_first = 1;
    if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc) pretended = atoi(argv[++i]);
  }
  static char name[WORD];
  begin(name);
  require(size % 2 == 0, "play alone");
  job.name = name;
  static struct end_of_queue mine;
  if (open_first) open_end(&mine);
  if (rank == 0) {
    require(getrandom(job.key, sizeof job.key, 0) == sizeof job.key, "draw a key");
    put_bytes("key", job.key, sizeof job.key);
  }
  number_nodes(pretended, &job);
  get_bytes(0, "key", job.key, sizeof job.key);
  errno = scela_hca_join(&job);
  require(errno == 0, "join");
  open_end(&mine);
  union ibv_gid gid;
  require(ibv_query_gid(mine.device, 1, 0, &gid) == 0, "learn the GID");
  put_bytes("gid", gid.raw, sizeof gid.raw);
  put_bytes("queue", (const unsigned char*)&mine.queue->qp_num, sizeof mine.queue->qp_num);
  meet();
  const int other = rank ^ 1;
  uint32_t number;
  get_bytes(other, "gid", gid.raw, sizeof gid.raw);
  get_bytes(other, "queue", (unsigned char*)&number, sizeof number);
  connect_end(&mine, &gid, number);
  receive_next(&mine);
  meet(); /* all ranks can receive */
  play(&mine);
  printf("rank %d on node %u of %u: %d messages there and back with rank %d\n", rank, job.node,
         job.nodes, MESSAGES, other);
  fflush(stdout);
  meet(); /* the peer still waits for its last acknowledgement */
  ibv_close_device(mine.device);
  end();
  return 0;
}
