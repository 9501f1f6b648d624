/* The C interface of libscela: messages and collective operations among the processes of a job.
 *
 *   scela_channel* channel;
 *   scela_communicator* world;
 *   if (scela_channel_open(NULL, &channel) != SCELA_OK ||
 *       scela_world(channel, NULL, &world) != SCELA_OK)
 *     return report(scela_message());
 *   scela_collective sum = {.operation = SCELA_ALLREDUCE, .reduce_op = SCELA_SUM,
 *                           .input = {mine, 1000, SCELA_FLOAT64},
 *                           .output = {all, 1000, SCELA_FLOAT64}};
 *   if (scela_run(world, &sum) != SCELA_OK) return report(scela_message());
 *   scela_communicator_free(world);
 *   scela_channel_close(channel);
 *
 * It has the meaning of the C++ interface (scela/channel.h, scela/request.h, scela/communicator.h):
 * each function here says only what is different. Handles are opaque. A function that makes one
 * sets it to NULL if it fails. A function that returns scela_code returns SCELA_OK or says why not;
 * the text is scela_message(). No function throws an exception, and none ends the process because
 * an argument is wrong. A NULL handle is an error unless the function says otherwise. A handle that
 * was freed is not detected. `report` and `use` in examples stand for functions of the program.
 *
 * Threads: as in C++. One thread at a time uses a channel and its requests, unless it was opened
 * with "THREADS=multiple". Two threads must not use one request at once, nor the communicators that
 * were made from one another and their requests.
 *
 * Later versions may add members at the end of structures, and values to enumerations; the values
 * here stay. */
#ifndef SCELA_SCELA_H
#define SCELA_SCELA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- errors ---- */

/* The codes of scela::Code (scela/status.h). With a code that begins with SCELA_BAD this rank sent
 * and received nothing. */
typedef enum scela_code {
  SCELA_OK,
  SCELA_BAD_RANK,         /* no such rank of a peer */
  SCELA_BAD_ROOT,         /* no such root of an operation */
  SCELA_BAD_TAG,          /* a tag below 0 */
  SCELA_BAD_BUFFER,       /* NULL with bytes, or they overlap */
  SCELA_BAD_COUNT,        /* sizes or parts do not fit */
  SCELA_BAD_TYPE,         /* the type or size of elements */
  SCELA_BAD_REDUCER,      /* it does not suit the type, or is NULL */
  SCELA_BAD_ARGUMENT,     /* another argument or setting */
  SCELA_BAD_REQUEST,      /* a request that cannot do this */
  SCELA_BAD_COMMUNICATOR, /* it is NULL or was freed */
  SCELA_TRUNCATED,        /* the buffer has the first bytes */
  SCELA_MISMATCH,         /* ranks have called different things */
  SCELA_PEER_ENDED,       /* or the rank cannot be reached */
  SCELA_RESOURCES,        /* memory or descriptors: try again */
  SCELA_DEVICE,           /* this node's adapter has failed */
  SCELA_TIMED_OUT,        /* a request goes on */
  SCELA_CANCELLED,        /* by scela_request_cancel() */
  SCELA_CLOSED,           /* here, or by the receiver of a send */
  SCELA_OTHER = 255       /* scela_message() says what happened */
} scela_code;

/* Returns a short description of a code, for example "the peer has ended". It is never NULL.
 *
 *   scela_code code = scela_run(world, &sum);
 *   if (code != SCELA_OK) printf("%s: %s\n", scela_code_name(code), scela_message());
 *   if (code == SCELA_PEER_ENDED) go_on_without(scela_message_rank()); */
const char* scela_code_name(scela_code code);
/* Returns the text of the last call of this thread that did not return SCELA_OK: what was tried,
 * what happened and what to do. It is never NULL, and valid until this thread's next call fails. */
const char* scela_message(void);
/* Returns the rank that the same error concerns, or -1. */
int scela_message_rank(void);

/* ---- channels ---- */

typedef struct scela_channel scela_channel;
typedef struct scela_request scela_request;
typedef struct scela_probed scela_probed; /* a message that was matched by probing */

#define SCELA_ANY_SOURCE (-1)
#define SCELA_ANY_TAG (-2)
#define SCELA_MAX_TAG 0x7fffffff
#define SCELA_CONTEXT_WORLD 0U
/* A timeout is in nanoseconds. With SCELA_NO_TIMEOUT a call blocks until it is done; with 0 or less
 * it moves what can be moved, and does not block. */
#define SCELA_NO_TIMEOUT INT64_MAX

/* The message that was received or probed: the sender's rank, the tag, and the length in bytes,
 * even if it was truncated. After any other call, and after any other error, these are -1, -1 and
 * 0. */
typedef struct scela_received {
  int source;
  int tag;
  size_t bytes;
} scela_received;

/* Opens the channel of this process. Every rank calls it, and it blocks until all have. A process
 * has one open channel at a time. `settings` is NULL or a list of texts that ends with NULL. Names
 * and values are those of the variables SCELA_CHANNEL_..., which overrule them (scela_channel(3)).
 * The list is not kept. Errors: SCELA_BAD_ARGUMENT (a setting, a variable, or a second channel) and
 * SCELA_DEVICE.
 *
 *   const char* settings[] = {"EAGER_SHM=64K", "THREADS=multiple", NULL};
 *   if (scela_channel_open(settings, &channel) != SCELA_OK) return report(scela_message()); */
scela_code scela_channel_open(const char* const* settings, scela_channel** channel);
/* Closes the channel: blocks until what was sent has been delivered. Requests that are left are
 * cancelled, with SCELA_CLOSED, or waited for; they may be freed later. Communicators and their
 * requests are freed before. NULL is allowed. */
void scela_channel_close(scela_channel* channel);

/* These return this rank, the number of ranks, this rank's node, the number of nodes, and the node
 * of a rank. Ranks and nodes count from 0. They return -1 if the channel is NULL, and
 * scela_node_of() also if there is no such rank. Any thread may call them.
 *
 *   int next = (scela_rank(channel) + 1) % scela_size(channel);
 *   int is_here = scela_node_of(channel, next) == scela_node(channel); */
int scela_rank(const scela_channel* channel);
int scela_size(const scela_channel* channel);
int scela_node(const scela_channel* channel);
int scela_nodes(const scela_channel* channel);
int scela_node_of(const scela_channel* channel, int rank);

/* These send and receive `bytes` bytes at `data`, and block until the buffer may be used again.
 * `peer` is a rank, also this one; `source` is a rank or SCELA_ANY_SOURCE. A send's tag is 0 to
 * SCELA_MAX_TAG; a receive's may be SCELA_ANY_TAG. A receive gets messages of its context only:
 * SCELA_CONTEXT_WORLD, or a number up to 2^31 - 1 of the program's own. `received` may be NULL.
 * scela_recv() also fills it if the message was truncated. After SCELA_TIMED_OUT nothing was
 * received, and nothing will be.
 *
 *   scela_received received;
 *   int64_t second = 1000000000;
 *   scela_send(channel, peer, 7, out, sizeof out, SCELA_CONTEXT_WORLD);
 *   scela_recv(channel, peer, SCELA_ANY_TAG, bytes, sizeof bytes, SCELA_CONTEXT_WORLD, second,
 *              &received); */
scela_code scela_send(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                      uint32_t context);
scela_code scela_recv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                      uint32_t context, int64_t timeout, scela_received* received);

/* These begin a message, return at once, and make its request, which the program frees. The buffer
 * belongs to the channel until the request is complete; that of a send may be read meanwhile. A
 * synchronous send (issend) is complete only when its receive has begun as well. A wrong argument
 * is reported here, and no request is made.
 *
 *   scela_request* both[2];
 *   if (scela_irecv(channel, peer, 7, bytes, sizeof bytes, 0, &both[0]) != SCELA_OK ||
 *       scela_issend(channel, peer, 7, out, sizeof out, 0, &both[1]) != SCELA_OK ||
 *       scela_request_wait_all(both, 2, SCELA_NO_TIMEOUT) != SCELA_OK)
 *     return report(scela_message()); */
scela_code scela_isend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                       uint32_t context, scela_request** request);
scela_code scela_issend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                        uint32_t context, scela_request** request);
scela_code scela_irecv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                       uint32_t context, scela_request** request);
/* These make a persistent request, which scela_request_start() starts any number of times.
 *
 *   scela_request* number;
 *   scela_send_init(channel, 1, 7, out, sizeof out, 0, &number);
 *   while (change(out) && scela_request_start(number) == SCELA_OK)
 *     if (scela_request_wait(number, SCELA_NO_TIMEOUT, NULL) != SCELA_OK) break; */
scela_code scela_send_init(scela_channel* channel, int peer, int tag, const void* data,
                           size_t bytes, uint32_t context, scela_request** request);
scela_code scela_recv_init(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                           uint32_t context, scela_request** request);

/* Blocks until a message could be received, and says which. A timeout of 0 only looks: if there is
 * none yet, the result is SCELA_TIMED_OUT. The message stays where it is.
 *
 *   scela_received found;
 *   if (scela_probe(channel, 1, 7, 0, SCELA_NO_TIMEOUT, &found) == SCELA_OK) use(found.bytes); */
scela_code scela_probe(scela_channel* channel, int source, int tag, uint32_t context,
                       int64_t timeout, scela_received* received);
/* Looks for a message and takes it, so that only scela_irecv_probed() can receive it. If there is
 * none yet, the result is SCELA_TIMED_OUT; it does not block. The program receives the message or
 * frees it.
 *
 *   scela_received found;
 *   scela_probed* taken;
 *   if (scela_probe_take(channel, SCELA_ANY_SOURCE, 7, 0, &found, &taken) == SCELA_OK)
 *     scela_irecv_probed(channel, taken, bytes, sizeof bytes, &request); */
scela_code scela_probe_take(scela_channel* channel, int source, int tag, uint32_t context,
                            scela_received* received, scela_probed** message);
/* Begins to receive such a message as scela_irecv() does, and frees `message` in any case. */
scela_code scela_irecv_probed(scela_channel* channel, scela_probed* message, void* data,
                              size_t bytes, scela_request** request);
/* Drops a message that was taken; its sender is told that it arrived. NULL is allowed. */
void scela_probed_free(scela_probed* message);

/* ---- messages of several pieces ---- */

/* A piece of a message. A message is the concatenation of its pieces; the receiver may have it in
 * other pieces, or in one. There may be none, and a piece may be empty. */
typedef struct scela_const_piece {
  const void* data;
  size_t bytes;
} scela_const_piece;
typedef struct scela_piece {
  void* data;
  size_t bytes;
} scela_piece;

/* These are the functions above for `count` pieces. The call copies the list; the pieces belong to
 * the channel as a buffer does. Those of a receive must not overlap. The example stands for all of
 * them.
 *
 *   scela_const_piece pieces[2] = {{&head, sizeof head}, {body, length}};
 *   if (scela_send_pieces(channel, 1, 7, pieces, 2, 0) != SCELA_OK)
 *     return report(scela_message()); */
scela_code scela_send_pieces(scela_channel* channel, int peer, int tag,
                             const scela_const_piece* pieces, size_t count, uint32_t context);
scela_code scela_recv_pieces(scela_channel* channel, int source, int tag, const scela_piece* pieces,
                             size_t count, uint32_t context, int64_t timeout,
                             scela_received* received);
scela_code scela_isend_pieces(scela_channel* channel, int peer, int tag,
                              const scela_const_piece* pieces, size_t count, uint32_t context,
                              scela_request** request);
scela_code scela_issend_pieces(scela_channel* channel, int peer, int tag,
                               const scela_const_piece* pieces, size_t count, uint32_t context,
                               scela_request** request);
scela_code scela_irecv_pieces(scela_channel* channel, int source, int tag,
                              const scela_piece* pieces, size_t count, uint32_t context,
                              scela_request** request);
scela_code scela_send_init_pieces(scela_channel* channel, int peer, int tag,
                                  const scela_const_piece* pieces, size_t count, uint32_t context,
                                  scela_request** request);
scela_code scela_recv_init_pieces(scela_channel* channel, int source, int tag,
                                  const scela_piece* pieces, size_t count, uint32_t context,
                                  scela_request** request);
scela_code scela_irecv_probed_pieces(scela_channel* channel, scela_probed* message,
                                     const scela_piece* pieces, size_t count,
                                     scela_request** request);

/* Moves what can be moved, without blocking. Returns 1 if something was moved, otherwise 0, also
 * for NULL.
 *
 *   while (compute_some()) scela_progress(channel); */
int scela_progress(scela_channel* channel);
/* Returns 1 if the channel knows that the rank has ended or cannot be reached. Otherwise, for NULL,
 * and if there is no such rank, returns 0. It moves nothing.
 *
 *   if (scela_has_exited(channel, 1)) return report("rank 1 has ended"); */
int scela_has_exited(const scela_channel* channel, int rank);
/* Ends the job, and this process with `status`; 1 replaces 0. The launcher's user reads `why`, which
 * may be NULL. With a NULL channel only this process ends. It does not return.
 *
 *   if (!valid(input)) scela_abort(channel, 3, "the input is wrong in line 7"); */
__attribute__((noreturn)) void scela_abort(scela_channel* channel, int status, const char* why);

/* ---- requests, of messages and of collective operations ---- */

/* Makes progress without blocking. Returns 1 if the request is complete, also with an error, or was
 * not started; otherwise 0. A NULL request is complete, here and in waits.
 *
 *   while (!scela_request_test(request)) compute(); */
int scela_request_test(scela_request* request);
/* Blocks until the request is complete, and returns its result, again in each call. `received` may
 * be NULL. The request is not freed. With SCELA_TIMED_OUT it goes on. For a persistent request that
 * was not started the result is SCELA_BAD_REQUEST.
 *
 *   scela_received received;
 *   scela_code code = scela_request_wait(request, SCELA_NO_TIMEOUT, &received);
 *   scela_request_free(request); */
scela_code scela_request_wait(scela_request* request, int64_t timeout, scela_received* received);
/* Blocks until one of `count` requests is complete, and sets `index` to its number. NULL entries
 * are passed over. The result is SCELA_TIMED_OUT if none is complete before the timeout, and
 * SCELA_BAD_REQUEST if there is none to wait for. It is SCELA_OK even if the request has failed:
 * scela_request_wait() then says how it ended, and the request is not found again.
 *
 *   size_t index;
 *   while (scela_request_wait_any(both, 2, SCELA_NO_TIMEOUT, &index) == SCELA_OK)
 *     if (scela_request_wait(both[index], 0, NULL) == SCELA_OK) use(index); */
scela_code scela_request_wait_any(scela_request* const* requests, size_t count, int64_t timeout,
                                  size_t* index);
/* Blocks until all requests are complete; scela_request_wait() then says how each ended. The result
 * is SCELA_TIMED_OUT if the timeout is over before. scela_isend() shows its use. */
scela_code scela_request_wait_all(scela_request* const* requests, size_t count, int64_t timeout);
/* Cancels a receive that no message has matched. Returns 1 if it is complete with SCELA_CANCELLED.
 * Returns 0 if it is too late, if only the sender knows, or if the request is NULL, a send or a
 * collective operation. It does not block.
 *
 *   if (!scela_request_cancel(request)) scela_request_wait(request, SCELA_NO_TIMEOUT, NULL); */
int scela_request_cancel(scela_request* request);
/* Starts a persistent request that was not started, or is complete; scela_send_init() shows its
 * use. For any other request, and for NULL, the result is SCELA_BAD_REQUEST. It does not block, but
 * for a communicator with "PROGRESS=at_once". */
scela_code scela_request_start(scela_request* request);
/* Lets a message go on without its handle, as MPI_Request_free does, and frees the handle. The
 * program keeps the buffer valid until the message is complete, which it learns by other means. A
 * request that is not under way is freed. For a collective operation that is under way the result
 * is SCELA_BAD_REQUEST, and the handle stays. NULL is allowed.
 *
 *   if (scela_isend(channel, 1, 7, out, sizeof out, 0, &request) == SCELA_OK)
 *     scela_request_detach(request); */
scela_code scela_request_detach(scela_request* request);
/* Frees a request. Unlike MPI_Request_free (see scela_request_detach), it cancels a request that is
 * not complete, or blocks until it is complete if it cannot be cancelled. If a collective operation
 * is cancelled, other ranks may wait for this one. NULL is allowed. */
void scela_request_free(scela_request* request);

/* ---- collective operations ---- */

typedef struct scela_communicator scela_communicator;

/* The type of an element, as scela::ElementType: in the machine's byte order, at any address.
 * SCELA_OPAQUE elements have the size that the buffer says. They are moved; only functions of the
 * program reduce them. */
typedef enum scela_type {
  SCELA_INT8,
  SCELA_UINT8,
  SCELA_INT16,
  SCELA_UINT16,
  SCELA_INT32,
  SCELA_UINT32,
  SCELA_INT64,
  SCELA_UINT64,
  SCELA_FLOAT16,
  SCELA_BFLOAT16,
  SCELA_FLOAT32,
  SCELA_FLOAT64,
  SCELA_LONG_DOUBLE,
  SCELA_INT16_INDEX, /* struct {int16_t value; int32_t index;}, and so on */
  SCELA_INT32_INDEX,
  SCELA_INT64_INDEX,
  SCELA_FLOAT32_INDEX,
  SCELA_FLOAT64_INDEX,
  SCELA_LONG_DOUBLE_INDEX,
  SCELA_OPAQUE = 255
} scela_type;

/* The operation on two elements, as scela::ReduceOp. The bitwise ones take integers. SCELA_MINLOC
 * and SCELA_MAXLOC take types called ..._INDEX, and give the least index of the least (greatest)
 * values. SCELA_OWN_FUNCTION is scela_collective's `function`. */
typedef enum scela_reduce_op {
  SCELA_SUM,
  SCELA_PRODUCT,
  SCELA_MINIMUM,
  SCELA_MAXIMUM,
  SCELA_LOGICAL_AND,
  SCELA_LOGICAL_OR,
  SCELA_LOGICAL_XOR,
  SCELA_BIT_AND,
  SCELA_BIT_OR,
  SCELA_BIT_XOR,
  SCELA_MINLOC,
  SCELA_MAXLOC,
  SCELA_OWN_FUNCTION = 255
} scela_reduce_op;

/* The operations, with MPI's meaning. The count of a buffer is that of all its blocks; all blocks
 * are equal, on all ranks. In SCELA_GATHER and SCELA_ALLGATHER the output has one block of the
 * input's size for each rank. In SCELA_SCATTER and SCELA_REDUCE_SCATTER_BLOCK the input has one of
 * the output's size for each. In SCELA_ALLTOALL both have one for each. In the others both buffers
 * are one block. Buffers that this rank does not need, such as the output of a SCELA_GATHER beside
 * the root, are ignored. Input and output must not overlap. */
typedef enum scela_operation {
  SCELA_BARRIER,
  SCELA_BCAST, /* the message is the output, on all ranks */
  SCELA_REDUCE,
  SCELA_ALLREDUCE,
  SCELA_GATHER,
  SCELA_SCATTER,
  SCELA_ALLGATHER,
  SCELA_ALLTOALL,
  SCELA_REDUCE_SCATTER_BLOCK,
  SCELA_SCAN,
  SCELA_EXSCAN, /* rank 0's output is not defined */
  /* These have parts. A buffer without parts is as long as this rank's part. */
  SCELA_GATHERV,
  SCELA_SCATTERV,
  SCELA_ALLGATHERV,
  SCELA_ALLTOALLV,
  SCELA_REDUCE_SCATTER
} scela_operation;

/* Consecutive elements in the program's memory. */
typedef struct scela_const_buffer {
  const void* data;
  size_t count;
  scela_type type;
  size_t element_bytes; /* of SCELA_OPAQUE; 0 counts as 1 */
} scela_const_buffer;

typedef struct scela_buffer {
  void* data;
  size_t count;
  scela_type type;
  size_t element_bytes;
} scela_buffer;

/* One rank's part of a buffer, in elements; `offset` counts from the buffer's begin. */
typedef struct scela_part {
  size_t count;
  size_t offset;
} scela_part;

/* Computes result[i] = left[i] op right[i] for each element; `result` is `left` or `right`.
 * Elements have the size that the buffers say. The function must be associative, and makes no calls
 * of libscela. The thread that moves the operation calls it. */
typedef void (*scela_function)(const void* left, const void* right, void* result, size_t elements,
                               void* user);

/* An operation with this rank's buffers. Members that an operation does not use are ignored.
 * Members that the program does not name must be 0, as in an initializer of C.
 *
 * If an operation is in place, all ranks say so, but in SCELA_REDUCE and SCELA_GATHER the root
 * alone. In SCELA_GATHER and SCELA_ALLGATHER the input is this rank's block of the output,
 * otherwise all of it. In SCELA_REDUCE_SCATTER_BLOCK the first block of the output becomes the
 * result. SCELA_REDUCE_SCATTER cannot be in place. The root of a SCELA_SCATTER leaves `output` and
 * `in_place` 0 instead: its own block stays in its input.
 *
 *   scela_collective gather = {.operation = SCELA_GATHER, .root = 0,
 *                              .input = {mine, 10, SCELA_INT32},
 *                              .output = {all, 10 * ranks, SCELA_INT32}}; */
typedef struct scela_collective {
  scela_operation operation;
  int root;     /* of bcast, reduce, gather and scatter, also with parts */
  int in_place; /* not 0: the input is in the output */
  scela_const_buffer input;
  scela_buffer output;
  scela_reduce_op reduce_op;
  scela_function function; /* of SCELA_OWN_FUNCTION */
  void* user;              /* given to it */
  int commutes;            /* of SCELA_OWN_FUNCTION: not 0 if left op right is right op left */
  /* One part for each rank of the communicator: input_parts of scatterv, alltoallv and
   * reduce_scatter; output_parts of gatherv, allgatherv and alltoallv. gatherv and scatterv need
   * them on the root only. They are copied. */
  const scela_part* input_parts;
  const scela_part* output_parts;
  /* The name of an algorithm, for example "ring": the same on all ranks. NULL: the table
   * chooses. */
  const char* algorithm;
  void* reserved[4]; /* NULL */
} scela_collective;

/* Makes a communicator of all ranks; all of them call it, and it may block until they do.
 * `settings` is NULL or a list of texts that ends with NULL: "PROGRESS=polled" (at_once, polled,
 * thread, engine), "CHECK=1", "BIND_THREAD=0", "TABLE=" and rows of a table. They are the members
 * of scela::CommunicatorOptions (scela/communicator.h). The list is not kept. Errors:
 * SCELA_BAD_ARGUMENT, SCELA_RESOURCES and SCELA_MISMATCH.
 *
 *   const char* settings[] = {"CHECK=1", "TABLE=bcast bytes 64K.. chain segment 16K", NULL};
 *   if (scela_world(channel, settings, &world) != SCELA_OK) return report(scela_message()); */
scela_code scela_world(scela_channel* channel, const char* const* settings,
                       scela_communicator** communicator);
/* These return this rank in the communicator, the number of its ranks, and the rank of the channel
 * that its rank `rank` is. They return -1 if the communicator is NULL, and the last also if there
 * is no such rank.
 *
 *   printf("%d of %d\n", scela_communicator_rank(world), scela_communicator_size(world));
 *   if (scela_communicator_world_rank(node, 0) == scela_rank(channel)) use(0); */
int scela_communicator_rank(const scela_communicator* communicator);
int scela_communicator_size(const scela_communicator* communicator);
int scela_communicator_world_rank(const scela_communicator* communicator, int rank);

/* These make communicators of all or some of the ranks; all ranks call them, and they block. A rank
 * that is in none gets NULL and SCELA_OK. Ranks with one color, from 0 on, get one communicator, in
 * the order of `key`, then of their ranks; SCELA_UNDEFINED_COLOR is in none. A subgroup has the
 * `count` ranks in this order; all ranks name the same. scela_dup() takes all ranks,
 * scela_node_communicator() those on this node, scela_leaders() each node's first rank, and
 * scela_shrink() the ranks that live.
 *
 *   scela_communicator *half, *copy, *node, *first_two;
 *   const int ranks[] = {0, 1};
 *   if (scela_split(world, scela_rank(channel) % 2, 0, &half) != SCELA_OK ||
 *       scela_dup(world, &copy) != SCELA_OK || scela_node_communicator(world, &node) != SCELA_OK ||
 *       scela_subgroup(world, ranks, 2, &first_two) != SCELA_OK)
 *     return report(scela_message()); */
scela_code scela_split(scela_communicator* communicator, int color, int key,
                       scela_communicator** made);
#define SCELA_UNDEFINED_COLOR (-1)
scela_code scela_dup(scela_communicator* communicator, scela_communicator** made);
scela_code scela_subgroup(scela_communicator* communicator, const int* ranks, size_t count,
                          scela_communicator** made);
scela_code scela_node_communicator(scela_communicator* communicator, scela_communicator** made);
scela_code scela_leaders(scela_communicator* communicator, scela_communicator** made);
scela_code scela_shrink(scela_communicator* communicator, scela_communicator** made);
/* Agrees on a flag among the ranks that live: `flag` is 0 or 1, and 1 afterwards if all have given
 * 1. All of them call it, and it blocks until they have, also if operations fail because a rank has
 * ended. After an error `flag` is as before.
 *
 *   int flag = 1;
 *   if (scela_agree(world, &flag) == SCELA_OK && flag == 0) scela_shrink(world, &living); */
scela_code scela_agree(scela_communicator* communicator, int* flag);
/* Says that this rank starts nothing more in the communicator, and frees the handle. All ranks free
 * it, after the same operations; operations under way go on. It does not block. NULL is allowed. */
void scela_communicator_free(scela_communicator* communicator);

/* scela_run() runs an operation and blocks until it is complete. scela_start() starts it, and
 * scela_prepare() makes a persistent request of it. A call reads `collective` before it returns.
 * The buffers belong to the operation until it is complete. A wrong call is reported by
 * scela_run(), scela_request_wait() or scela_request_start(). If `collective` is NULL, or its
 * operation is none of scela_operation, nothing is started and the other ranks are not told. The
 * program frees requests. Those of scela_prepare() are started as scela_send_init() shows.
 *
 *   scela_request* request;
 *   if (scela_start(world, &sum, &request) != SCELA_OK) return report(scela_message());
 *   while (!scela_request_test(request)) compute();
 *   if (scela_request_wait(request, 0, NULL) != SCELA_OK) return report(scela_message()); */
scela_code scela_run(scela_communicator* communicator, const scela_collective* collective);
scela_code scela_start(scela_communicator* communicator, const scela_collective* collective,
                       scela_request** request);
scela_code scela_prepare(scela_communicator* communicator, const scela_collective* collective,
                         scela_request** request);

/* ---- messages of a communicator ---- */

/* These are the functions of a channel, for messages among the ranks of a communicator: `peer`,
 * `source`, scela_received.source and scela_message_rank() are ranks of the communicator. Such
 * messages match neither those of another communicator nor those of the channel. They have the
 * channel's rule for threads. The examples of the channel's functions hold for them, with a
 * communicator and without a context.
 *
 *   if (scela_communicator_rank(node) == 0) scela_communicator_send(node, 1, 7, out, sizeof out);
 *   if (scela_communicator_rank(node) == 1)
 *     scela_communicator_recv(node, 0, 7, bytes, sizeof bytes, SCELA_NO_TIMEOUT, NULL); */
scela_code scela_communicator_send(scela_communicator* communicator, int peer, int tag,
                                   const void* data, size_t bytes);
scela_code scela_communicator_recv(scela_communicator* communicator, int source, int tag,
                                   void* data, size_t bytes, int64_t timeout,
                                   scela_received* received);
scela_code scela_communicator_isend(scela_communicator* communicator, int peer, int tag,
                                    const void* data, size_t bytes, scela_request** request);
scela_code scela_communicator_issend(scela_communicator* communicator, int peer, int tag,
                                     const void* data, size_t bytes, scela_request** request);
scela_code scela_communicator_irecv(scela_communicator* communicator, int source, int tag,
                                    void* data, size_t bytes, scela_request** request);
scela_code scela_communicator_send_init(scela_communicator* communicator, int peer, int tag,
                                        const void* data, size_t bytes, scela_request** request);
scela_code scela_communicator_recv_init(scela_communicator* communicator, int source, int tag,
                                        void* data, size_t bytes, scela_request** request);
scela_code scela_communicator_probe(scela_communicator* communicator, int source, int tag,
                                    int64_t timeout, scela_received* received);
scela_code scela_communicator_probe_take(scela_communicator* communicator, int source, int tag,
                                         scela_received* received, scela_probed** message);
scela_code scela_communicator_irecv_probed(scela_communicator* communicator, scela_probed* message,
                                           void* data, size_t bytes, scela_request** request);

/* These do so for messages of several pieces; scela_send_pieces() shows their use. */
scela_code scela_communicator_send_pieces(scela_communicator* communicator, int peer, int tag,
                                          const scela_const_piece* pieces, size_t count);
scela_code scela_communicator_recv_pieces(scela_communicator* communicator, int source, int tag,
                                          const scela_piece* pieces, size_t count, int64_t timeout,
                                          scela_received* received);
scela_code scela_communicator_isend_pieces(scela_communicator* communicator, int peer, int tag,
                                           const scela_const_piece* pieces, size_t count,
                                           scela_request** request);
scela_code scela_communicator_issend_pieces(scela_communicator* communicator, int peer, int tag,
                                            const scela_const_piece* pieces, size_t count,
                                            scela_request** request);
scela_code scela_communicator_irecv_pieces(scela_communicator* communicator, int source, int tag,
                                           const scela_piece* pieces, size_t count,
                                           scela_request** request);
scela_code scela_communicator_send_init_pieces(scela_communicator* communicator, int peer, int tag,
                                               const scela_const_piece* pieces, size_t count,
                                               scela_request** request);
scela_code scela_communicator_recv_init_pieces(scela_communicator* communicator, int source,
                                               int tag, const scela_piece* pieces, size_t count,
                                               scela_request** request);
scela_code scela_communicator_irecv_probed_pieces(scela_communicator* communicator,
                                                  scela_probed* message, const scela_piece* pieces,
                                                  size_t count, scela_request** request);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* SCELA_SCELA_H */
