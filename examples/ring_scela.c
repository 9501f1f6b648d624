/* Messages and a sum in C, by the C interface of libscela (scela/scela.h).
 *
 * A number goes once round all ranks, and each rank adds its own to it. Then all ranks compute the
 * same sum by one collective operation, and rank 0 compares.
 *
 *   cc -o ring_scela ring_scela.c $(pkg-config --cflags --libs libscela)
 *   scela-run -n 4 ./ring_scela
 *   scela-run --sim-nodes 2 --ppn 2 ./ring_scela    # two nodes, simulated on this machine
 *   mpiexec.hydra -n 4 ./ring_scela
 */
#include <stdio.h>

#include <scela/scela.h>

enum { TAG = 1 };

static int failed(const char* what) {
  fprintf(stderr, "ring_scela: %s: %s\n", what, scela_message());
  return 1;
}

int main(void) {
  scela_channel* channel;
  scela_communicator* world;
  if (scela_channel_open(NULL, &channel) != SCELA_OK) return failed("open the channel");
  if (scela_world(channel, NULL, &world) != SCELA_OK) return failed("make the communicator");
  const int rank = scela_rank(channel), size = scela_size(channel);

  /* Rank 0 begins the round: its receive ends when the number has come back. */
  int32_t came = 0, sum = rank, all = 0;
  scela_request* receive;
  if (scela_irecv(channel, (rank + size - 1) % size, TAG, &came, sizeof came, SCELA_CONTEXT_WORLD,
                  &receive) != SCELA_OK)
    return failed("receive");
  if (rank != 0) {
    if (scela_request_wait(receive, SCELA_NO_TIMEOUT, NULL) != SCELA_OK) return failed("receive");
    sum += came;
  }
  if (scela_send(channel, (rank + 1) % size, TAG, &sum, sizeof sum, SCELA_CONTEXT_WORLD) !=
      SCELA_OK)
    return failed("send");
  if (scela_request_wait(receive, SCELA_NO_TIMEOUT, NULL) != SCELA_OK) return failed("receive");
  scela_request_free(receive);

  const int32_t mine = rank;
  const scela_collective total = {.operation = SCELA_ALLREDUCE,
                                  .input = {&mine, 1, SCELA_INT32, 0},
                                  .output = {&all, 1, SCELA_INT32, 0},
                                  .reduce_op = SCELA_SUM};
  if (scela_run(world, &total) != SCELA_OK) return failed("add the ranks");
  const int right = rank != 0 || came == all;
  if (rank == 0) printf("the ring's sum is %d, that of the collective operation %d\n", came, all);

  scela_communicator_free(world);
  scela_channel_close(channel);
  return right ? 0 : 1;
}
