/* Management queues: lists of requests that an adapter executes by itself, as CORE-Direct did
 * (docs/design/hca.md; "Offloading collective communication", sections 2.6.1 and 2.6.2).
 *
 * Besides the requests of ibv_post_send, a send queue takes tasks. WAIT holds the queue until
 * completions have come to a completion queue. SEND_ENABLE and RECV_ENABLE release requests that
 * another queue pair holds. CALC computes on registered memory. A queue pair holds its requests if
 * it was made with SCELA_QP_MANAGED_SEND or SCELA_QP_MANAGED_RECV among the create_flags of
 * scela_create_qp (comp_mask: IBV_QP_INIT_ATTR_CREATE_FLAGS).
 *
 * Counting: each completion queue has a base, which starts at 0. WAIT(cq, n) ends once base + n
 * completions have ever come to cq. Completions that came early, and errors, count. A WAIT marked
 * `last` moves the base by the largest n since the previous WAIT that was marked. So each list
 * waits for the completions that come after those of the lists before it. Several queues can wait
 * for the same completions if all but one leave out the mark.
 *
 * This sends a message that `qp` holds, once one completion has come to `cq`:
 *
 *   struct scela_task release = {.opcode = SCELA_TASK_SEND_ENABLE, .u = {.enable = {qp, 1}}};
 *   struct scela_task wait = {
 *       .next = &release, .opcode = SCELA_TASK_WAIT, .u = {.wait = {cq, 1, 1}}};
 *   struct scela_task* bad;
 *   int error = scela_post_task(mq, &wait, &bad);
 *
 * Functions that return int return 0 or an errno. Those that return a pointer return NULL and set
 * errno if they fail. Any thread may call them, and none blocks until a task is executed.
 *
 * libscela-ibverbs.so.1 has them for its device, which executes tasks by itself.
 * libscela-verbs-tasks.so.1 has them for every device. It calls the functions of a device that
 * executes tasks; for any other device a thread of this process executes them. So a program
 * describes only once what is to be executed. The functions below make and destroy the objects of
 * tasks; the program posts, polls and queries as usual. docs/design/hca.md says what a thread
 * cannot do. */
#ifndef SCELA_VERBS_EXT_H
#define SCELA_VERBS_EXT_H

#include <infiniband/verbs.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values for create_flags, as bits. The numbers are those of the Linux kernel (enum
 * ib_qp_create_flags). The last two make a queue pair that holds its send or receive requests. */
enum scela_qp_create_flags {
  SCELA_QP_CROSS_CHANNEL = 1 << 2, /* no effect: all queue pairs take tasks */
  SCELA_QP_MANAGED_SEND = 1 << 3,
  SCELA_QP_MANAGED_RECV = 1 << 4
};

/* The kind of a task; also the opcode of its completion (ibv_wc.opcode). */
enum scela_task_opcode {
  SCELA_TASK_WAIT = 0x100,
  SCELA_TASK_SEND_ENABLE = 0x101,
  SCELA_TASK_RECV_ENABLE = 0x102,
  SCELA_TASK_CALC = 0x103
};

/* The operation that a CALC applies to elements. */
enum scela_calc_op {
  SCELA_CALC_SUM,
  SCELA_CALC_MIN,
  SCELA_CALC_MAX,
  SCELA_CALC_AND, /* this and the next two: integers only */
  SCELA_CALC_OR,
  SCELA_CALC_XOR
};

/* The type of the elements of a CALC, in the machine's byte order. */
enum scela_calc_type {
  SCELA_CALC_INT32,
  SCELA_CALC_INT64,
  SCELA_CALC_UINT32,
  SCELA_CALC_UINT64,
  SCELA_CALC_FLOAT,
  SCELA_CALC_DOUBLE
};

/* A task to post. `u.wait` is for WAIT, `u.enable` for SEND_ENABLE and RECV_ENABLE, and `u.calc`
 * for CALC. A task that cannot be executed completes with an error: IBV_WC_LOC_QP_OP_ERR if
 * `enable.qp` does not hold its requests. A CALC completes with IBV_WC_LOC_LEN_ERR if its lengths
 * are wrong, and with IBV_WC_LOC_PROT_ERR if its memory cannot be accessed.
 *
 *   struct ibv_sge pieces[3] = {result, left, right};
 *   struct scela_task sum = {
 *       .opcode = SCELA_TASK_CALC,
 *       .u = {.calc = {SCELA_CALC_SUM, SCELA_CALC_DOUBLE, pieces, 3}}}; */
struct scela_task {
  uint64_t wr_id;          /* the completion repeats it */
  struct scela_task* next; /* NULL: the last one */
  enum scela_task_opcode opcode;
  unsigned int send_flags; /* IBV_SEND_SIGNALED, or 0 */
  union {
    struct {
      struct ibv_cq* cq; /* of the same context */
      uint32_t count;    /* of completions, after the base */
      int last;          /* not 0: moves the base */
    } wait;
    struct {
      struct ibv_qp* qp; /* of the same context, made to hold its requests */
      uint32_t count;    /* requests to release, posted or not */
    } enable;
    struct {
      enum scela_calc_op op;
      enum scela_calc_type type;
      /* sg_list[0] is the result, and the others are its operands. All have one length, a multiple
       * of the type's size and at most 1 MiB. An operand may be the result. Elements are combined
       * from sg_list[1] on, left to right; sums of integers wrap. The result needs
       * IBV_ACCESS_LOCAL_WRITE. */
      struct ibv_sge* sg_list;
      int num_sge; /* 2 to the queue's max_send_sge */
    } calc;
  } u;
};

/* Make and destroy a completion queue as ibv_create_cq and ibv_destroy_cq do. They are for
 * completion queues that tasks wait for, and for those of queue pairs that take tasks or hold
 * requests. If a thread executes tasks, `channel` must be NULL (otherwise EOPNOTSUPP).
 *
 *   struct ibv_cq* cq = scela_create_cq(context, 64, NULL, NULL, 0); */
struct ibv_cq* scela_create_cq(struct ibv_context* context, int cqe, void* cq_context,
                               struct ibv_comp_channel* channel, int comp_vector);
int scela_destroy_cq(struct ibv_cq* cq);

/* Make, change and destroy a queue pair as ibv_create_qp_ex, ibv_modify_qp and ibv_destroy_qp do.
 * They are for queue pairs that take tasks or hold requests. Their completion queues must be made
 * by scela_create_cq.
 *
 *   struct ibv_qp_init_attr_ex attributes = {
 *       .send_cq = cq, .recv_cq = cq, .cap = {64, 64, 4, 1, 0}, .qp_type = IBV_QPT_RC,
 *       .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, .pd = pd,
 *       .create_flags = SCELA_QP_MANAGED_SEND};
 *   struct ibv_qp* qp = scela_create_qp(context, &attributes);
 *   struct ibv_qp_attr failed = {.qp_state = IBV_QPS_ERR};
 *   int error = scela_modify_qp(qp, &failed, IBV_QP_STATE);
 *   if (error == 0) error = scela_destroy_qp(qp);
 *   if (error == 0) error = scela_destroy_cq(cq); */
struct ibv_qp* scela_create_qp(struct ibv_context* context, struct ibv_qp_init_attr_ex* attributes);
int scela_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int attr_mask);
int scela_destroy_qp(struct ibv_qp* qp);

/* Posts a list of tasks to the send queue; the list may be changed afterwards. `bad_task` is not
 * NULL. Returns 0 if all were posted. Otherwise those before *bad_task were posted. Returns EINVAL
 * if a task or the queue pair's state is invalid, and ENOMEM if the queue is full. */
int scela_post_task(struct ibv_qp* qp, struct scela_task* task, struct scela_task** bad_task);

/* Makes a management queue: a queue pair that takes only tasks, and is ready for them. Its
 * completions go to `cq`, which scela_create_cq has made. It holds at most `max_tasks`, 1 or more;
 * a CALC has at most 3 operands. scela_destroy_qp destroys it.
 *
 *   struct ibv_qp* mq = scela_create_mq(pd, cq, 64); */
struct ibv_qp* scela_create_mq(struct ibv_pd* pd, struct ibv_cq* cq, uint32_t max_tasks);

#ifdef __cplusplus
}
#endif
#endif
