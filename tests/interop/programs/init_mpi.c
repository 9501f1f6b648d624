/* MPI_Init, a line of each rank, MPI_Finalize: what a launcher and its PMIx server do for a
 * program, and no message between ranks, which would be Open MPI's own time. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("hello from rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
