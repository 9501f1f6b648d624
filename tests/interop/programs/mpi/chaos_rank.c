/* A rank of the jobs that tests/cluster/chaos.py disturbs: it writes numbered lines whose text
 * follows from the rank and the number, so that a reader knows a line that is broken or invented.
 * Compiled by an MPI's compiler with CHAOS_MPI, it adds up a number over all ranks before each
 * line.
 *
 *   chaos_rank LINES PAUSE_MICROSECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef CHAOS_MPI
#include <mpi.h>
#endif

static void pause_for(long microseconds) {
  const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static void write_line(int rank, int number) {
  char text[80];
  const int length = 1 + (rank * 7 + number * 13) % 60;
  for (int i = 0; i < length; ++i)
    text[i] = (char)('a' + (rank + number + i) % 26);
  text[length] = '\0';
  printf("R%d %d %s\n", rank, number, text);
  fflush(stdout);
}

#ifdef CHAOS_MPI
/* Waits without spinning, because many ranks share a machine. */
static int sum_over_all(int mine) {
  MPI_Request request;
  int sum = 0, over = 0;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &over, MPI_STATUS_IGNORE), !over)
    pause_for(500);
  return sum;
}
#endif

int main(int argc, char** argv) {
  const int lines = argc > 1 ? atoi(argv[1]) : 10;
  const long pause = argc > 2 ? atol(argv[2]) : 1000;
  const char* rank_text = getenv("SCELA_RANK");
  int rank = rank_text ? atoi(rank_text) : 0;
#ifdef CHAOS_MPI
  int size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#endif
  for (int number = 1; number <= lines; ++number) {
#ifdef CHAOS_MPI
    if (sum_over_all(rank + number) != size * (size - 1) / 2 + size * number) {
      fprintf(stderr, "chaos: rank %d: the sum of line %d is wrong\n", rank, number);
      return 9;
    }
#endif
    write_line(rank, number);
    pause_for(pause);
  }
#ifdef CHAOS_MPI
  MPI_Finalize();
#endif
  return 0;
}
