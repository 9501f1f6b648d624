/* An MPI program with rounds of computing and of waiting for all others, as most programs have.
 * beside ROUNDS: rank 0 says how long the rounds took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  volatile double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 20000; ++i)
      sum += i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d ranks, %d rounds: %.3f s\n", size, rounds, MPI_Wtime() - began);
  MPI_Finalize();
  return 0;
}
