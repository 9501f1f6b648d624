/* Uses the C interface as a program does, and checks what each function does: messages, requests,
 * collective operations, communicators and errors. It runs on any number of ranks, from 1. */
#include <scela/scela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static scela_channel* channel;
static scela_communicator* world;

static void fail(const char* what, int line) {
  fprintf(stderr, "capi_probe: rank %d, line %d: %s (%s)\n", rank, line, what, scela_message());
  exit(1);
}
#define MUST(holds)                       \
  do {                                    \
    if (!(holds)) fail(#holds, __LINE__); \
  } while (0)
#define GOOD(call) MUST((call) == SCELA_OK)
/* The call fails with this code, and its text contains the words. */
#define FAILS(code, words, call)                    \
  do {                                              \
    MUST((call) == (code));                         \
    MUST(strstr(scela_message(), (words)) != NULL); \
  } while (0)

enum { kTag = 7, kProbed = 8, kPersistent = 9 };

static void settings(void) {
  const char* const misspelt[] = {"EAGER_SHN=4K", NULL};
  const char* const wrong[] = {"EAGER_SHM=much", NULL};
  const char* const others[] = {"VERBS=scela", NULL};
  FAILS(SCELA_BAD_ARGUMENT, "no setting 'VERBS=scela'", scela_channel_open(others, &channel));
  FAILS(SCELA_BAD_ARGUMENT, "no setting 'EAGER_SHN=4K'", scela_channel_open(misspelt, &channel));
  MUST(channel == NULL);
  FAILS(SCELA_BAD_ARGUMENT, "'much'", scela_channel_open(wrong, &channel));
  FAILS(SCELA_BAD_ARGUMENT, "`channel` is NULL", scela_channel_open(NULL, NULL));
}

static void opened(void) {
  const char* const own[] = {"EAGER_SHM=8K", "THREADS=multiple", NULL};
  scela_channel* second = NULL;
  GOOD(scela_channel_open(own, &channel));
  FAILS(SCELA_BAD_ARGUMENT, "open", scela_channel_open(NULL, &second));
  MUST(second == NULL);
  rank = scela_rank(channel);
  size = scela_size(channel);
  MUST(rank >= 0 && rank < size && scela_nodes(channel) >= 1);
  MUST(scela_node_of(channel, rank) == scela_node(channel) && scela_node_of(channel, size) == -1);
  MUST(scela_rank(NULL) == -1 && scela_size(NULL) == -1 && scela_node(NULL) == -1);
  MUST(scela_has_exited(channel, rank) == 0);
}

/* Each rank sends to the next. */
static void messages(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int sent[2] = {rank, 0}, got[2] = {-1, -1};
  scela_request* both[3] = {NULL, NULL, NULL};
  scela_received received;
  size_t index = 9;
  GOOD(scela_irecv(channel, SCELA_ANY_SOURCE, kTag, got, sizeof got, 0, &both[0]));
  GOOD(scela_isend(channel, next, kTag, sent, sizeof sent, 0, &both[2]));
  GOOD(scela_request_wait_all(both, 3, SCELA_NO_TIMEOUT));
  GOOD(scela_request_wait(both[0], SCELA_NO_TIMEOUT, &received));
  MUST(received.source == last && received.tag == kTag && received.bytes == sizeof got &&
       got[0] == last);
  /* The first was waited for, so that any other is found. */
  GOOD(scela_request_wait_any(both, 3, SCELA_NO_TIMEOUT, &index));
  MUST(index == 2);
  GOOD(scela_request_wait(both[2], SCELA_NO_TIMEOUT, NULL));
  MUST(scela_request_test(both[2]) == 1 && scela_request_test(NULL) == 1);
  FAILS(SCELA_BAD_REQUEST, "none is under way",
        scela_request_wait_any(both, 3, SCELA_NO_TIMEOUT, &index));
  FAILS(SCELA_BAD_REQUEST, "not persistent", scela_request_start(both[0]));
  for (int i = 0; i < 3; ++i)
    scela_request_free(both[i]);

  /* A blocking pair; the message is longer than the buffer. */
  GOOD(scela_isend(channel, next, kTag, sent, sizeof sent, 0, &both[0]));
  MUST(scela_recv(channel, last, kTag, got, 3, 0, SCELA_NO_TIMEOUT, &received) == SCELA_TRUNCATED);
  MUST(received.bytes == sizeof sent);
  GOOD(scela_request_wait(both[0], SCELA_NO_TIMEOUT, NULL));
  scela_request_free(both[0]);
  MUST(scela_recv(channel, last, kTag, got, sizeof got, 0, 1000000, &received) == SCELA_TIMED_OUT);

  /* A receive that nothing matches is cancelled. */
  GOOD(scela_irecv(channel, last, kTag, got, sizeof got, 5, &both[0]));
  MUST(scela_request_wait(both[0], 0, NULL) == SCELA_TIMED_OUT);
  FAILS(SCELA_TIMED_OUT, "before", scela_request_wait_all(both, 1, 1000000));
  MUST(scela_request_cancel(both[0]) == 1);
  MUST(scela_request_wait(both[0], SCELA_NO_TIMEOUT, NULL) == SCELA_CANCELLED);
  scela_request_free(both[0]);
}

static void probed(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  double sent = rank + 0.5, got = -1;
  scela_probed* taken = NULL;
  scela_request* send = NULL;
  scela_request* receive = NULL;
  scela_received received;
  scela_code code;
  MUST(scela_probe(channel, last, kProbed, 0, 0, &received) == SCELA_TIMED_OUT || size > 1);
  GOOD(scela_issend(channel, next, kProbed, &sent, sizeof sent, 0, &send));
  GOOD(scela_probe(channel, last, kProbed, 0, SCELA_NO_TIMEOUT, &received));
  MUST(received.source == last && received.bytes == sizeof sent);
  do
    code = scela_probe_take(channel, last, kProbed, 0, &received, &taken);
  while (code == SCELA_TIMED_OUT);
  GOOD(code);
  GOOD(scela_irecv_probed(channel, taken, &got, sizeof got, &receive));
  GOOD(scela_request_wait(receive, SCELA_NO_TIMEOUT, &received));
  MUST(got == last + 0.5 && received.tag == kProbed);
  GOOD(scela_request_wait(send, SCELA_NO_TIMEOUT, NULL));
  scela_request_free(send);
  scela_request_free(receive);
  FAILS(SCELA_BAD_ARGUMENT, "`message` is NULL",
        scela_irecv_probed(channel, NULL, &got, sizeof got, &receive));
  scela_probed_free(NULL);
}

static void persistent(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int sent = 0, got = 0;
  scela_request* send;
  scela_request* receive;
  GOOD(scela_send_init(channel, next, kPersistent, &sent, sizeof sent, 0, &send));
  GOOD(scela_recv_init(channel, last, kPersistent, &got, sizeof got, 0, &receive));
  FAILS(SCELA_BAD_REQUEST, "not started", scela_request_wait(receive, SCELA_NO_TIMEOUT, NULL));
  for (int round = 0; round < 3; ++round) {
    sent = 100 * round + rank;
    GOOD(scela_request_start(receive));
    GOOD(scela_request_start(send));
    GOOD(scela_request_wait(receive, SCELA_NO_TIMEOUT, NULL));
    GOOD(scela_request_wait(send, SCELA_NO_TIMEOUT, NULL));
    MUST(got == 100 * round + last);
  }
  scela_request_free(send);
  scela_request_free(receive);
}

static void wrong_messages(void) {
  int value = 0;
  scela_request* request = (scela_request*)&value;
  scela_received received;
  FAILS(SCELA_BAD_RANK, "rank", scela_send(channel, size, kTag, &value, sizeof value, 0));
  MUST(scela_message_rank() == size);
  FAILS(SCELA_BAD_TAG, "tag", scela_isend(channel, rank, -5, &value, sizeof value, 0, &request));
  MUST(request == NULL);
  FAILS(SCELA_BAD_BUFFER, "null", scela_irecv(channel, rank, kTag, NULL, 4, 0, &request));
  FAILS(SCELA_BAD_ARGUMENT, "channel is NULL", scela_send(NULL, 0, 0, &value, sizeof value, 0));
  FAILS(SCELA_BAD_ARGUMENT, "`request` is NULL",
        scela_irecv(channel, rank, kTag, &value, 4, 0, NULL));
  GOOD(scela_request_wait(NULL, 0, &received));
  /* What was received is -1, -1 and 0 after each failure. */
  const scela_piece none[1] = {{NULL, 0}};
  scela_probed* taken = NULL;
  scela_received old = {7, 7, 7};
  FAILS(SCELA_BAD_ARGUMENT, "channel is NULL",
        scela_recv(NULL, 0, 0, &value, sizeof value, 0, 0, &old));
  MUST(old.source == -1 && old.tag == -1 && old.bytes == 0);
  old = (scela_received){7, 7, 7};
  MUST(scela_probe_take(channel, rank, 99, 0, &old, &taken) == SCELA_TIMED_OUT);
  MUST(old.source == -1 && old.tag == -1 && old.bytes == 0);
  old = (scela_received){7, 7, 7};
  FAILS(SCELA_BAD_COUNT, "so many pieces",
        scela_recv_pieces(channel, rank, 99, none, SIZE_MAX, 0, 0, &old));
  MUST(old.source == -1 && old.tag == -1 && old.bytes == 0);
  MUST(received.source == -1 && received.bytes == 0);
  FAILS(SCELA_BAD_REQUEST, "request is NULL", scela_request_start(NULL));
  MUST(strcmp(scela_code_name(SCELA_PEER_ENDED), "the peer has ended") == 0);
  MUST(strcmp(scela_code_name((scela_code)99), "not a code") == 0);
  MUST(strcmp(scela_code_name(SCELA_OTHER), "another error") == 0);
}

static void keep_last(const void* left, const void* right, void* result, size_t elements,
                      void* user) {
  ++*(int*)user;
  (void)left;
  memmove(result, right, elements * sizeof(int));
}

static scela_const_buffer in(const void* data, size_t count) {
  const scela_const_buffer buffer = {data, count, SCELA_INT32, 0};
  return buffer;
}
static scela_buffer out(void* data, size_t count) {
  const scela_buffer buffer = {data, count, SCELA_INT32, 0};
  return buffer;
}

/* Makes another world. After some wrong calls no rank knows what another would have sent, so all
   operations of the communicator end, also those that other ranks are not through with. So there is
   another world before such a call and after it. */
static void renew(void) {
  scela_communicator_free(world);
  GOOD(scela_world(channel, NULL, &world));
}

static void reductions(void) {
  int mine[2] = {rank, 1}, got[2], calls = 0;
  const int sum = size * (size - 1) / 2;
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_BARRIER}));
  got[0] = rank == size - 1 ? 42 : 0;
  GOOD(scela_run(world, &(scela_collective){
                            .operation = SCELA_BCAST, .root = size - 1, .output = out(got, 1)}));
  MUST(got[0] == 42);

  scela_collective call = {.operation = SCELA_ALLREDUCE,
                           .input = in(mine, 2),
                           .output = out(got, 2),
                           .reduce_op = SCELA_SUM};
  GOOD(scela_run(world, &call));
  MUST(got[0] == sum && got[1] == size);
  call.algorithm = "recursive-doubling";
  GOOD(scela_run(world, &call));
  MUST(got[0] == sum);
  renew();
  call.algorithm = "by_mail";
  FAILS(SCELA_BAD_ARGUMENT, "by_mail", scela_run(world, &call));
  renew();
  call.algorithm = NULL;

  call.in_place = 1;
  got[0] = rank;
  got[1] = 2;
  GOOD(scela_run(world, &call));
  MUST(got[0] == sum && got[1] == 2 * size);
  call.in_place = 0;

  call.reduce_op = SCELA_OWN_FUNCTION;
  call.function = keep_last;
  call.user = &calls;
  GOOD(scela_run(world, &call));
  MUST(got[0] == size - 1 && (size == 1 || calls > 0 || rank != 0));
  call.function = NULL;
  FAILS(SCELA_BAD_REDUCER, "function", scela_run(world, &call));
  call.reduce_op = SCELA_SUM;

  call.operation = SCELA_REDUCE;
  GOOD(scela_run(world, &call));
  MUST(rank != 0 || got[0] == sum);
  renew();
  call.root = size;
  FAILS(SCELA_BAD_ROOT, "root", scela_run(world, &call));
  renew();
  call.operation = SCELA_SCAN;
  GOOD(scela_run(world, &call));
  MUST(got[0] == rank * (rank + 1) / 2 && got[1] == rank + 1);
  call.operation = SCELA_EXSCAN;
  GOOD(scela_run(world, &call));
  MUST(rank == 0 || got[1] == rank);
}

/* Values with an index: the least value, and where it is. */
static void least(void) {
  struct {
    double value;
    int32_t index;
  } least = {rank == size / 2 ? -1.0 : rank, rank};
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_ALLREDUCE,
                                            .in_place = 1,
                                            .output = {&least, 1, SCELA_FLOAT64_INDEX, 0},
                                            .reduce_op = SCELA_MINLOC}));
  MUST(least.value == -1.0 && least.index == size / 2);
}

static void blocks(int* all, int* from) {
  int mine[1] = {rank}, got[1];
  const int sum = size * (size - 1) / 2;
  const size_t each = (size_t)size;
  GOOD(scela_run(
      world, &(scela_collective){
                 .operation = SCELA_ALLGATHER, .input = in(mine, 1), .output = out(all, each)}));
  for (int i = 0; i < size; ++i)
    MUST(all[i] == i);
  GOOD(scela_run(world,
                 &(scela_collective){
                     .operation = SCELA_GATHER, .input = in(mine, 1), .output = out(all, each)}));
  MUST(rank != 0 || all[size - 1] == size - 1);
  GOOD(scela_run(world,
                 &(scela_collective){
                     .operation = SCELA_SCATTER, .input = in(all, each), .output = out(got, 1)}));
  MUST(got[0] == rank);
  for (int i = 0; i < size; ++i)
    from[i] = 10 * rank + i;
  GOOD(scela_run(
      world, &(scela_collective){
                 .operation = SCELA_ALLTOALL, .input = in(from, each), .output = out(all, each)}));
  for (int i = 0; i < size; ++i)
    MUST(all[i] == 10 * i + rank);
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_REDUCE_SCATTER_BLOCK,
                                            .input = in(from, each),
                                            .output = out(got, 1),
                                            .reduce_op = SCELA_SUM}));
  MUST(got[0] == 10 * sum + size * rank);
}

/* The parts stand in the opposite order of ranks, but for reduce_scatter, which takes no offsets. */
static void parts(int* all, int* from, scela_part* of) {
  int mine[1] = {rank}, got[1];
  const int sum = size * (size - 1) / 2;
  const size_t each = (size_t)size;
  for (int i = 0; i < size; ++i)
    of[i] = (scela_part){1, (size_t)(size - 1 - i)};
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_ALLGATHERV,
                                            .input = in(mine, 1),
                                            .output = out(all, each),
                                            .output_parts = of}));
  MUST(all[0] == size - 1 && all[size - 1] == 0);
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_GATHERV,
                                            .input = in(mine, 1),
                                            .output = out(all, each),
                                            .output_parts = rank == 0 ? of : NULL}));
  MUST(rank != 0 || all[0] == size - 1);
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_SCATTERV,
                                            .input = in(all, each),
                                            .output = out(got, 1),
                                            .input_parts = rank == 0 ? of : NULL}));
  MUST(got[0] == rank);
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_ALLTOALLV,
                                            .input = in(from, each),
                                            .output = out(all, each),
                                            .input_parts = of,
                                            .output_parts = of}));
  MUST(all[0] == 10 * (size - 1) + size - 1 - rank);
  GOOD(scela_run(world, &(scela_collective){.operation = SCELA_REDUCE_SCATTER,
                                            .input = in(from, each),
                                            .output = out(got, 1),
                                            .input_parts = of,
                                            .reduce_op = SCELA_SUM}));
  MUST(got[0] == 10 * sum + size * rank);
}

/* What an operation does not use is ignored. What is wrong is refused on all ranks, also if the call
 * of one rank only is wrong. */
static void wrong_operations(void) {
  const scela_collective barrier = {.operation = SCELA_BARRIER};
  int mine = rank, all = 0;
  scela_collective call = {.operation = SCELA_BARRIER, .reduce_op = (scela_reduce_op)77};
  call.input.type = (scela_type)77;
  GOOD(scela_run(world, &call));
  call.operation = SCELA_ALLREDUCE;
  call.in_place = 1;
  call.reduce_op = SCELA_SUM;
  call.output = out(&mine, 1);
  GOOD(scela_run(world, &call));
  MUST(mine == size * (size - 1) / 2);

  call.in_place = 0;
  call.input = in(&mine, 1);
  call.output = out(&all, 1);
  renew();
  if (rank == 0) call.reduce_op = (scela_reduce_op)77;
  MUST(scela_run(world, &call) == (rank == 0 ? SCELA_BAD_REDUCER : SCELA_MISMATCH));
  MUST(scela_message_rank() == 0);
  renew();
  call.reduce_op = SCELA_SUM;
  if (rank == 0) call.input.type = (scela_type)77;
  MUST(scela_run(world, &call) == (rank == 0 ? SCELA_BAD_TYPE : SCELA_MISMATCH));
  renew();

  FAILS(SCELA_BAD_ARGUMENT, "operation",
        scela_run(world, &(scela_collective){.operation = (scela_operation)77}));
  FAILS(SCELA_BAD_ARGUMENT, "reserved", scela_run(world, &(scela_collective){.reserved = {&mine}}));
  FAILS(SCELA_BAD_ARGUMENT, "NULL", scela_run(world, NULL));
  FAILS(SCELA_BAD_COMMUNICATOR, "NULL", scela_run(NULL, &barrier));
  FAILS(SCELA_BAD_ARGUMENT, "`request` is NULL", scela_start(world, &barrier, NULL));
  FAILS(SCELA_BAD_ARGUMENT, "`request` is NULL", scela_prepare(world, &barrier, NULL));
}

static void collectives(void) {
  int* all = calloc((size_t)size, sizeof *all);
  int* from = calloc((size_t)size, sizeof *from);
  scela_part* of = calloc((size_t)size, sizeof *of);
  MUST(all != NULL && from != NULL && of != NULL);
  reductions();
  least();
  blocks(all, from);
  parts(all, from, of);
  wrong_operations();
  free(all);
  free(from);
  free(of);
}

/* One wait for a message and an operation; a prepared operation is started again and again. */
static void requests(void) {
  int mine = rank, all = 0, got = -1;
  const int next = (rank + 1) % size;
  const scela_collective sum = {.operation = SCELA_ALLREDUCE,
                                .input = in(&mine, 1),
                                .output = out(&all, 1),
                                .reduce_op = SCELA_SUM};
  scela_request* both[2];
  scela_request* send;
  size_t index, seen = 0;
  GOOD(scela_irecv(channel, SCELA_ANY_SOURCE, kTag, &got, sizeof got, 0, &both[0]));
  GOOD(scela_start(world, &sum, &both[1]));
  GOOD(scela_isend(channel, next, kTag, &mine, sizeof mine, 0, &send));
  for (int i = 0; i < 2; ++i) {
    GOOD(scela_request_wait_any(both, 2, SCELA_NO_TIMEOUT, &index));
    GOOD(scela_request_wait(both[index], SCELA_NO_TIMEOUT, NULL));
    seen |= (size_t)1 << index;
  }
  MUST(seen == 3 && all == size * (size - 1) / 2 && got == (rank + size - 1) % size);
  GOOD(scela_request_wait(send, SCELA_NO_TIMEOUT, NULL));
  scela_request_free(send);
  scela_request_free(both[0]);
  scela_request_free(both[1]);

  GOOD(scela_prepare(world, &sum, &both[0]));
  for (int round = 1; round <= 3; ++round) {
    mine = round;
    GOOD(scela_request_start(both[0]));
    GOOD(scela_request_wait(both[0], SCELA_NO_TIMEOUT, NULL));
    MUST(all == round * size);
  }
  scela_request_free(both[0]);
}

static void communicators(void) {
  scela_communicator* made = NULL;
  const int first[1] = {0};
  int flag = 1;
  GOOD(scela_split(world, rank % 2, -rank, &made));
  MUST(scela_communicator_size(made) == (size + 1 - rank % 2) / 2);
  MUST(scela_communicator_world_rank(made, scela_communicator_rank(made)) == rank);
  MUST(scela_communicator_world_rank(made, size) == -1);
  scela_communicator_free(made);
  GOOD(scela_split(world, rank == 0 ? 3 : SCELA_UNDEFINED_COLOR, 0, &made));
  MUST((made != NULL) == (rank == 0));
  scela_communicator_free(made);
  GOOD(scela_dup(world, &made));
  MUST(scela_communicator_rank(made) == rank && scela_communicator_size(made) == size);
  scela_communicator_free(made);
  GOOD(scela_subgroup(world, first, 1, &made));
  MUST((made != NULL) == (rank == 0));
  scela_communicator_free(made);
  GOOD(scela_node_communicator(world, &made));
  MUST(scela_communicator_size(made) >= 1);
  scela_communicator_free(made);
  GOOD(scela_leaders(world, &made));
  MUST(made == NULL || scela_communicator_size(made) == scela_nodes(channel));
  scela_communicator_free(made);
  GOOD(scela_agree(world, &flag));
  MUST(flag == 1);
  flag = rank != 0;
  GOOD(scela_agree(world, &flag));
  MUST(flag == 0);
  GOOD(scela_shrink(world, &made));
  MUST(scela_communicator_size(made) == size);
  scela_communicator_free(made);
  MUST(scela_communicator_rank(NULL) == -1 && scela_communicator_size(NULL) == -1);
  FAILS(SCELA_BAD_COMMUNICATOR, "NULL", scela_dup(NULL, &made));
  FAILS(SCELA_BAD_ARGUMENT, "there is no rank -1", scela_subgroup(world, NULL, 2, &made));
}

/* Messages of several pieces, each by another function, and received in other pieces. */
static void in_pieces(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  enum { kHead = 3, kBody = 50000, kTail = 7, kAll = kHead + kBody + kTail };
  static char head[kHead], body[kBody], tail[kTail], got[kAll];
  const scela_const_piece sent[] = {{head, kHead}, {NULL, 0}, {body, kBody}, {tail, kTail}};
  const scela_piece room[] = {{got + 100, kAll - 100}, {got, 100}}; /* the second half first */
  scela_request* requests[2] = {NULL, NULL};
  scela_probed* taken = NULL;
  scela_received received;
  scela_code code;
  memset(head, 'h' + rank, kHead);
  memset(body, 'b' + rank, kBody);
  memset(tail, 't' + rank, kTail);
  for (int way = 0; way < 5; ++way) {
    memset(got, 0, sizeof got);
    switch (way) {
      case 0:
        GOOD(scela_irecv_pieces(channel, last, 1, room, 2, 0, &requests[0]));
        GOOD(scela_send_pieces(channel, next, 1, sent, 4, 0));
        break;
      case 1:
        GOOD(scela_isend_pieces(channel, next, 1, sent, 4, 0, &requests[1]));
        GOOD(scela_recv_pieces(channel, last, 1, room, 2, 0, SCELA_NO_TIMEOUT, &received));
        MUST(received.source == last && received.bytes == kAll);
        break;
      case 2:
        GOOD(scela_issend_pieces(channel, next, 1, sent, 4, 0, &requests[1]));
        do
          code = scela_probe_take(channel, last, 1, 0, &received, &taken);
        while (code == SCELA_TIMED_OUT);
        GOOD(code);
        GOOD(scela_irecv_probed_pieces(channel, taken, room, 2, &requests[0]));
        break;
      case 3:
        GOOD(scela_recv_init_pieces(channel, SCELA_ANY_SOURCE, 1, room, 2, 0, &requests[0]));
        GOOD(scela_send_init_pieces(channel, next, 1, sent, 4, 0, &requests[1]));
        for (int i = 0; i < 2; ++i)
          GOOD(scela_request_start(requests[i]));
        break;
      default:
        GOOD(scela_communicator_irecv_pieces(world, last, 1, room, 2, &requests[0]));
        GOOD(scela_communicator_isend_pieces(world, next, 1, sent, 4, &requests[1]));
    }
    GOOD(scela_request_wait_all(requests, 2, SCELA_NO_TIMEOUT));
    for (int i = 0; i < 2; ++i) {
      GOOD(scela_request_wait(requests[i], SCELA_NO_TIMEOUT, NULL));
      scela_request_free(requests[i]);
      requests[i] = NULL;
    }
    MUST(got[100] == 'h' + last && got[100 + kHead] == 'b' + last && got[0] == 'b' + last);
    MUST(got[100 - kTail - 1] == 'b' + last && got[100 - kTail] == 't' + last);
  }
}

static void wrong_pieces(void) {
  char head[3] = "";
  const scela_const_piece sent[] = {{head, sizeof head}};
  const scela_piece null_room[] = {{NULL, 1}};
  const scela_const_piece null_piece[] = {{head, sizeof head}, {NULL, 1}};
  scela_request* requests[2] = {NULL, NULL};
  FAILS(SCELA_BAD_BUFFER, "piece 1", scela_send_pieces(channel, rank, 1, null_piece, 2, 0));
  FAILS(SCELA_BAD_BUFFER, "piece 0",
        scela_irecv_pieces(channel, rank, 1, null_room, 1, 0, requests));
  FAILS(SCELA_BAD_BUFFER, "`pieces` is NULL", scela_send_pieces(channel, rank, 1, NULL, 1, 0));
  FAILS(SCELA_BAD_RANK, "rank", scela_isend_pieces(channel, size, 1, sent, 1, 0, requests));
  FAILS(SCELA_BAD_ARGUMENT, "`request` is NULL",
        scela_isend_pieces(channel, rank, 1, sent, 1, 0, NULL));
  FAILS(SCELA_BAD_ARGUMENT, "channel is NULL", scela_send_pieces(NULL, rank, 1, sent, 1, 0));
  MUST(requests[0] == NULL);
}

/* Begins to send `own` to the next rank, and to receive `got` of the last one, in one of six ways. */
static void begin_in(scela_communicator* turned, int way, const int* own, int* got,
                     scela_request** requests) {
  const int next = (*own + 1) % size, last = (*own + size - 1) % size;
  const scela_const_piece sent[] = {{own, 2}, {(const char*)own + 2, sizeof *own - 2}};
  const scela_piece room[] = {{got, 1}, {(char*)got + 1, sizeof *got - 1}};
  scela_probed* taken = NULL;
  scela_received received;
  scela_code code;
  switch (way) {
    case 0:
      GOOD(scela_communicator_irecv(turned, SCELA_ANY_SOURCE, 1, got, sizeof *got, &requests[0]));
      GOOD(scela_communicator_send(turned, next, 1, own, sizeof *own));
      break;
    case 1:
      GOOD(scela_communicator_recv_init(turned, last, 1, got, sizeof *got, &requests[0]));
      GOOD(scela_communicator_send_init(turned, next, 1, own, sizeof *own, &requests[1]));
      for (int i = 0; i < 2; ++i)
        GOOD(scela_request_start(requests[i]));
      break;
    case 2:
      GOOD(scela_communicator_issend(turned, next, 1, own, sizeof *own, &requests[1]));
      GOOD(scela_communicator_probe(turned, SCELA_ANY_SOURCE, 1, SCELA_NO_TIMEOUT, &received));
      MUST(received.source == last);
      do
        code = scela_communicator_probe_take(turned, last, 1, &received, &taken);
      while (code == SCELA_TIMED_OUT);
      GOOD(code);
      GOOD(scela_communicator_irecv_probed(turned, taken, got, sizeof *got, &requests[0]));
      break;
    case 3:
      GOOD(scela_communicator_recv_init_pieces(turned, last, 1, room, 2, &requests[0]));
      GOOD(scela_communicator_send_init_pieces(turned, next, 1, sent, 2, &requests[1]));
      for (int i = 0; i < 2; ++i)
        GOOD(scela_request_start(requests[i]));
      break;
    case 4:
      GOOD(scela_communicator_issend_pieces(turned, next, 1, sent, 2, &requests[1]));
      do
        code = scela_communicator_probe_take(turned, last, 1, NULL, &taken);
      while (code == SCELA_TIMED_OUT);
      GOOD(code);
      GOOD(scela_communicator_irecv_probed_pieces(turned, taken, room, 2, &requests[0]));
      break;
    default:
      GOOD(scela_communicator_irecv_pieces(turned, last, 1, room, 2, &requests[0]));
      GOOD(scela_communicator_send_pieces(turned, next, 1, sent, 2));
  }
}

static void wrong_in(scela_communicator* turned, int next) {
  int number = 0;
  scela_request* request = NULL;
  FAILS(SCELA_BAD_RANK, "there are ranks 0 to",
        scela_communicator_isend(turned, size, 1, &number, sizeof number, &request));
  MUST(scela_message_rank() == size && request == NULL);
  FAILS(SCELA_BAD_TAG, "tag", scela_communicator_send(turned, next, -1, &number, sizeof number));
  MUST(scela_message_rank() == next);
  FAILS(SCELA_BAD_COMMUNICATOR, "NULL",
        scela_communicator_send(NULL, 0, 1, &number, sizeof number));
  FAILS(SCELA_BAD_COMMUNICATOR, "NULL",
        scela_communicator_irecv(NULL, 0, 1, &number, sizeof number, &request));
}

/* Messages of a communicator with the ranks in the other order, also of pieces. */
static void of_communicator(void) {
  scela_communicator* turned = NULL;
  GOOD(scela_split(world, 0, -rank, &turned));
  const int own = scela_communicator_rank(turned);
  const int next = (own + 1) % size, last = (own + size - 1) % size;
  int got = -1;
  const scela_piece room[] = {{&got, 1}, {(char*)&got + 1, sizeof got - 1}};
  scela_request* requests[2] = {NULL, NULL};
  scela_received received;
  MUST(own == size - 1 - rank);
  for (int way = 0; way < 6; ++way) {
    got = -1;
    begin_in(turned, way, &own, &got, requests);
    GOOD(scela_request_wait_all(requests, 2, SCELA_NO_TIMEOUT));
    GOOD(scela_request_wait(requests[0], SCELA_NO_TIMEOUT, &received));
    MUST(received.source == last && received.bytes == sizeof got && got == last);
    for (int i = 0; i < 2; ++i) {
      scela_request_free(requests[i]);
      requests[i] = NULL;
    }
  }
  GOOD(scela_communicator_isend(turned, next, 2, &own, sizeof own, &requests[0]));
  GOOD(scela_communicator_recv(turned, last, 2, &got, sizeof got, SCELA_NO_TIMEOUT, &received));
  GOOD(scela_communicator_isend(turned, next, 3, &own, sizeof own, &requests[1]));
  GOOD(scela_communicator_recv_pieces(turned, last, 3, room, 2, SCELA_NO_TIMEOUT, &received));
  MUST(received.source == last && got == last);
  for (int i = 0; i < 2; ++i)
    scela_request_free(requests[i]);
  wrong_in(turned, next);
  scela_communicator_free(turned);
}

static void without_handles(void) {
  static int sent;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  scela_collective barrier = {.operation = SCELA_BARRIER};
  scela_request* request = NULL;
  int got = -1;
  sent = rank;
  GOOD(scela_issend(channel, next, 11, &sent, sizeof sent, 0, &request));
  GOOD(scela_request_detach(request));
  GOOD(scela_recv(channel, last, 11, &got, sizeof got, 0, SCELA_NO_TIMEOUT, NULL));
  MUST(got == last);
  GOOD(scela_send_init(channel, next, 11, &sent, sizeof sent, 0, &request));
  GOOD(scela_request_detach(request));
  GOOD(scela_request_detach(NULL));
  /* The others come to the barrier when this rank has tried. */
  if (rank == 0) {
    GOOD(scela_start(world, &barrier, &request));
    if (size > 1) FAILS(SCELA_BAD_REQUEST, "under way", scela_request_detach(request));
    for (int other = 1; other < size; ++other)
      GOOD(scela_send(channel, other, 12, &sent, sizeof sent, 0));
    GOOD(scela_request_wait(request, SCELA_NO_TIMEOUT, NULL));
    GOOD(scela_request_detach(request));
  } else {
    GOOD(scela_recv(channel, 0, 12, &got, sizeof got, 0, SCELA_NO_TIMEOUT, NULL));
    GOOD(scela_run(world, &barrier));
  }
}

int main(int argc, char** argv) {
  const char* const thread[] = {"PROGRESS=thread", "BIND_THREAD=0", "CHECK=1", NULL};
  const char* const no_mode[] = {"PROGRESS=steam", NULL};
  const char* const no_name[] = {"SPEED=1", NULL};
  settings();
  opened();
  if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == 0) scela_abort(channel, 5, "no more");
  messages();
  probed();
  persistent();
  wrong_messages();
  GOOD(scela_world(channel, NULL, &world));
  collectives();
  requests();
  communicators();
  in_pieces();
  wrong_pieces();
  of_communicator();
  without_handles();
  scela_communicator_free(world);
  FAILS(SCELA_BAD_ARGUMENT, "steam", scela_world(channel, no_mode, &world));
  FAILS(SCELA_BAD_ARGUMENT, "SPEED", scela_world(channel, no_name, &world));
  FAILS(SCELA_BAD_ARGUMENT, "channel is NULL", scela_world(NULL, NULL, &world));
  GOOD(scela_world(channel, thread, &world));
  requests();
  scela_communicator_free(world);
  scela_communicator_free(NULL);
  scela_channel_close(channel);
  scela_channel_close(NULL);
  printf("rank %d of %d: good\n", rank, size);
  return 0;
}
