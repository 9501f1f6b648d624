/* Every rank says that it is up once all are, and sends something to each other rank. The ranks end
 * when rank 0's input does. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, sum = 0, over = 0;
  MPI_Request meeting;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf(sum == size * (size - 1) / 2 ? "up\n" : "wrong sum\n");
  fflush(stdout);
  if (rank == 0) {
    while (getchar() != EOF) {
    }
  }
  /* Waits without spinning, because several such jobs share a machine. */
  MPI_Ibarrier(MPI_COMM_WORLD, &meeting);
  while (MPI_Test(&meeting, &over, MPI_STATUS_IGNORE), !over)
    usleep(1000);
  MPI_Finalize();
  return 0;
}
