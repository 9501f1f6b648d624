/* A user's library that speaks MPI for a program which does not know MPI. The program is
 * through_library.c. */
#include <mpi.h>

int meet(int* argc, char*** argv) {
  int size = 0;
  MPI_Init(argc, argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  return size;
}
