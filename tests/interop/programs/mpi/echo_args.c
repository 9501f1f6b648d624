/* Rank 0 prints its arguments in brackets, one a line, then the variable INTEROP. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 1; i < argc; ++i)
      printf("[%s]\n", argv[i]);
    const char* value = getenv("INTEROP");
    printf("INTEROP=%s\n", value != NULL ? value : "(unset)");
  }
  MPI_Finalize();
  return 0;
}
