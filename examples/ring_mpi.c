/* A number goes once round the ring of ranks, and every rank adds its own to it.
 *
 *   mpicc.mpich -o ring examples/ring_mpi.c
 *   scela-run --sim-nodes 2 --ppn 2 ./ring
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  long sum = 0;
  if (rank == 0) {
    MPI_Request request; /* with one rank, the receiver is the sender */
    MPI_Isend(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD, &request);
    long total = 0;
    MPI_Recv(&total, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%ld went round %d ranks, expected %ld\n", total, size, (long)size * (size - 1) / 2);
  } else {
    MPI_Recv(&sum, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
