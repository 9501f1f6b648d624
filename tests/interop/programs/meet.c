/* A library of a user's that speaks MPI for a program which does not know it: what
 * through_library.c calls. */
#include <mpi.h>

int meet(int* argc, char*** argv) {
  int size = 0;
  MPI_Init(argc, argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  return size;
}
