/* The C interface of libscela: messages and collective operations among the processes of a job.
 *
 *   scela_channel* channel;
 *   scela_communicator* world;
 *   if (scela_channel_open(NULL, &channel) != SCELA_OK || scela_world(channel, NULL, &world) != SCELA_OK)
 *     return report(scela_message());
 *   scela_collective sum = {.operation = SCELA_ALLREDUCE, .reduce_op = SCELA_SUM,
 *                           .input = {mine, 1000, SCELA_FLOAT64}, .output = {all, 1000, SCELA_FLOAT64}};
 *   if (scela_run(world, &sum) != SCELA_OK) return report(scela_message());
 *
 * It has the meaning of the C++ interface (scela/channel.h, scela/request.h, scela/communicator.h):
 * each function here says only what is different. Handles are opaque. A function that makes one sets
 * it to NULL if it fails. A function that returns scela_code returns SCELA_OK or says why not; the
 * text is scela_message(). No function throws an exception, and none ends the process because an
 * argument is wrong. A NULL handle is an error unless the function says otherwise. A handle that was
 * freed is not detected.
 *
 * Threads: as in C++. One thread at a time uses a channel and its requests, unless it was opened with
 * "THREADS=multiple". Two threads must not use one request at once, nor the communicators that were
 * made from one another and their requests.
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

/* The codes of scela::Code; scela/status.h explains each. */
typedef enum scela_code {
  SCELA_OK,
  SCELA_BAD_RANK,
  SCELA_BAD_ROOT,
  SCELA_BAD_TAG,
  SCELA_BAD_BUFFER,
  SCELA_BAD_COUNT,
  SCELA_BAD_TYPE,
  SCELA_BAD_REDUCER,
  SCELA_BAD_ARGUMENT,
  SCELA_BAD_REQUEST,
  SCELA_BAD_COMMUNICATOR,
  SCELA_TRUNCATED,
  SCELA_MISMATCH,
  SCELA_PEER_ENDED,
  SCELA_RESOURCES,
  SCELA_DEVICE,
  SCELA_TIMED_OUT,
  SCELA_CANCELLED,
  SCELA_CLOSED,
  SCELA_OTHER = 255
} scela_code;

/* Returns a short description of a code, for example "the peer has ended". It is never NULL. */
const char* scela_code_name(scela_code code);
/* Returns the text of the last call of this thread that did not return SCELA_OK: what was tried, what
 * happened and what to do. It is never NULL, and valid until this thread's next call fails. */
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

/* What was received or probed: the sender's rank, the tag, and the length in bytes. After any other
 * call, and after an error but SCELA_TRUNCATED, it is -1, -1 and 0. */
typedef struct scela_received {
  int source;
  int tag;
  size_t bytes;
} scela_received;

/* Opens the channel of this process; every rank calls it. `settings` is NULL or a list of texts that
 * ends with NULL: "EAGER_SHM=64K", "THREADS=multiple". Names and values are those of the variables
 * SCELA_CHANNEL_..., which overrule them (scela_channel(3)). */
scela_code scela_channel_open(const char* const* settings, scela_channel** channel);
/* Closes the channel: blocks until what was sent has been delivered. Requests that are left end;
 * they may be freed later. NULL is allowed. */
void scela_channel_close(scela_channel* channel);

/* These return -1 if the channel is NULL, and scela_node_of() also if there is no such rank. */
int scela_rank(const scela_channel* channel);
int scela_size(const scela_channel* channel);
int scela_node(const scela_channel* channel);
int scela_nodes(const scela_channel* channel);
int scela_node_of(const scela_channel* channel, int rank);

/* Blocking messages. `received` may be NULL. scela_recv() also fills it if the message was truncated. */
scela_code scela_send(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                      uint32_t context);
scela_code scela_recv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                      uint32_t context, int64_t timeout, scela_received* received);

/* These begin a message and make its request, which the program frees. A wrong argument is reported
 * here, and no request is made. */
scela_code scela_isend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                       uint32_t context, scela_request** request);
scela_code scela_issend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                        uint32_t context, scela_request** request);
scela_code scela_irecv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                       uint32_t context, scela_request** request);
/* These make a persistent request, which scela_request_start() starts. */
scela_code scela_send_init(scela_channel* channel, int peer, int tag, const void* data,
                           size_t bytes, uint32_t context, scela_request** request);
scela_code scela_recv_init(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                           uint32_t context, scela_request** request);

/* Blocks until a message could be received, and says which. A timeout of 0 only looks: if there is
 * none yet, the result is SCELA_TIMED_OUT. */
scela_code scela_probe(scela_channel* channel, int source, int tag, uint32_t context,
                       int64_t timeout, scela_received* received);
/* Looks for a message and takes it, so that only scela_irecv_probed() can receive it. If there is none
 * yet, the result is SCELA_TIMED_OUT. */
scela_code scela_probe_take(scela_channel* channel, int source, int tag, uint32_t context,
                            scela_received* received, scela_probed** message);
/* Begins to receive such a message, and frees `message` in any case. */
scela_code scela_irecv_probed(scela_channel* channel, scela_probed* message, void* data,
                              size_t bytes, scela_request** request);
/* Drops a message that was taken. NULL is allowed. */
void scela_probed_free(scela_probed* message);

/* ---- messages of several pieces ---- */

/* A piece of a message. A message is the concatenation of its pieces; the receiver may have it in other
 * pieces, or in one. There may be none, and a piece may be empty. */
typedef struct scela_const_piece {
  const void* data;
  size_t bytes;
} scela_const_piece;
typedef struct scela_piece {
  void* data;
  size_t bytes;
} scela_piece;

/* These are the functions above for `count` pieces. The call copies the list; the pieces belong to the
 * channel as a buffer does. */
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

/* Moves what can be moved, without blocking. Returns 1 if something was moved, otherwise 0. */
int scela_progress(scela_channel* channel);
/* Returns 1 if the channel knows that the rank has ended or cannot be reached, otherwise 0. */
int scela_has_exited(const scela_channel* channel, int rank);

/* ---- requests, of messages and of collective operations ---- */

/* Makes progress without blocking. Returns 1 if the request is complete, otherwise 0. A NULL request is
 * complete, here and in the other functions for requests. */
int scela_request_test(scela_request* request);
/* Blocks until the request is complete, and returns its result. `received` may be NULL. The request
 * is not freed. */
scela_code scela_request_wait(scela_request* request, int64_t timeout, scela_received* received);
/* Blocks until one of `count` requests is complete, and sets `index` to its number. NULL entries are
 * passed over. The result is SCELA_TIMED_OUT if none is complete before the timeout, and
 * SCELA_BAD_REQUEST if there is none to wait for. It is SCELA_OK even if the request has failed:
 * scela_request_wait() then says how it ended. */
scela_code scela_request_wait_any(scela_request* const* requests, size_t count, int64_t timeout,
                                  size_t* index);
/* Blocks until all requests are complete; scela_request_wait() then says how each ended. */
scela_code scela_request_wait_all(scela_request* const* requests, size_t count, int64_t timeout);
/* Cancels a receive that no message has matched. Returns 1 if it was cancelled, otherwise 0. */
int scela_request_cancel(scela_request* request);
/* Starts a persistent request. */
scela_code scela_request_start(scela_request* request);
/* Lets a message go on without its handle, as MPI_Request_free does, and frees the handle. The program
 * keeps the buffer valid until the message is complete, which it learns by other means. A request that is
 * not under way is freed. For a collective operation that is under way the result is SCELA_BAD_REQUEST,
 * and the handle stays. NULL is allowed. */
scela_code scela_request_detach(scela_request* request);
/* Frees a request. Unlike MPI_Request_free (see scela_request_detach), it cancels a request that is not
 * complete, or blocks until it is complete if it cannot be cancelled. NULL is allowed. */
void scela_request_free(scela_request* request);

/* ---- collective operations ---- */

typedef struct scela_communicator scela_communicator;

/* The values of scela::ElementType. SCELA_OPAQUE elements have the size that the buffer says. */
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

/* The values of scela::ReduceOp; SCELA_OWN_FUNCTION is scela_collective's `function`. */
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
  SCELA_EXSCAN,
  /* These have parts. */
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

/* One rank's part of a buffer, in elements. */
typedef struct scela_part {
  size_t count;
  size_t offset;
} scela_part;

/* Computes result[i] = left[i] op right[i] for each element; `result` is `left` or `right`. The
 * function must be associative. */
typedef void (*scela_function)(const void* left, const void* right, void* result, size_t elements,
                               void* user);

/* An operation with this rank's buffers. Members that an operation does not use are ignored. Members
 * that the program does not name must be 0, as in an initializer of C. */
typedef struct scela_collective {
  scela_operation operation;
  int root;     /* of bcast, reduce, gather and scatter, also with parts */
  int in_place; /* not 0: the input stands in the output, and `input` is ignored */
  scela_const_buffer input;
  scela_buffer output;
  scela_reduce_op reduce_op;
  scela_function function; /* of SCELA_OWN_FUNCTION */
  void* user;              /* given to it */
  int commutes;            /* of SCELA_OWN_FUNCTION: not 0 if left op right is right op left */
  /* One part for each rank of the communicator: input_parts of scatterv, alltoallv and
   * reduce_scatter; output_parts of gatherv, allgatherv and alltoallv. gatherv and scatterv need them
   * on the root only. They are copied. */
  const scela_part* input_parts;
  const scela_part* output_parts;
  const char* algorithm; /* for example "ring"; NULL: the table chooses */
  void* reserved[4];     /* NULL */
} scela_collective;

/* Makes a communicator of all ranks; all of them call it. `settings` is NULL or a list of texts that
 * ends with NULL: "PROGRESS=polled" (at_once, polled, thread, engine), "CHECK=1", "BIND_THREAD=0",
 * "TABLE=" and rows of a table. */
scela_code scela_world(scela_channel* channel, const char* const* settings,
                       scela_communicator** communicator);
/* These return -1 if the communicator is NULL or empty. */
int scela_communicator_rank(const scela_communicator* communicator);
int scela_communicator_size(const scela_communicator* communicator);
int scela_communicator_world_rank(const scela_communicator* communicator, int rank);

/* These make communicators of all or some of the ranks; all ranks call them, and they block. A rank
 * that is in none gets NULL and SCELA_OK. */
scela_code scela_split(scela_communicator* communicator, int color, int key,
                       scela_communicator** made);
#define SCELA_UNDEFINED_COLOR (-1)
scela_code scela_dup(scela_communicator* communicator, scela_communicator** made);
scela_code scela_subgroup(scela_communicator* communicator, const int* ranks, size_t count,
                          scela_communicator** made);
scela_code scela_node_communicator(scela_communicator* communicator, scela_communicator** made);
scela_code scela_leaders(scela_communicator* communicator, scela_communicator** made);
scela_code scela_shrink(scela_communicator* communicator, scela_communicator** made);
/* Agrees on a flag among the ranks that live: `flag` is 0 or 1, and 1 afterwards if all have given 1. */
scela_code scela_agree(scela_communicator* communicator, int* flag);
/* Says that this rank starts nothing more in the communicator, as scela::Communicator::free() does,
 * and frees the handle. NULL is allowed. */
void scela_communicator_free(scela_communicator* communicator);

/* scela_run() runs an operation and blocks until it is complete. scela_start() starts it, and
 * scela_prepare() makes a persistent request of it. A call reads `collective` before it returns. The
 * buffers belong to the operation until it is complete. A wrong call is reported by scela_run(),
 * scela_request_wait() or scela_request_start(). If `collective` is NULL, or its operation is none of
 * scela_operation, nothing is started and the other ranks are not told. */
scela_code scela_run(scela_communicator* communicator, const scela_collective* collective);
scela_code scela_start(scela_communicator* communicator, const scela_collective* collective,
                       scela_request** request);
scela_code scela_prepare(scela_communicator* communicator, const scela_collective* collective,
                         scela_request** request);

/* ---- messages of a communicator ---- */

/* These are the functions of a channel, for messages among the ranks of a communicator: `peer`, `source`,
 * scela_received.source and scela_message_rank() are ranks of the communicator. Such messages match neither
 * those of another communicator nor those of the channel. The threads may be those of the channel. */
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

/* These are the same for messages of several pieces. */
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
