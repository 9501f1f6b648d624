/* Rank 1 ends the way the first argument says while the others wait for it in a
 * second barrier:
 *   abort     MPI_Abort with code 7
 *   segfault  writes through a null pointer
 *   leave     exits with 0 without MPI_Finalize
 *   exit      exits with 3 without MPI_Finalize
 *   early     exits with 3 before MPI_Init */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  const char* how = argc > 1 ? argv[1] : "";
  const char* given = getenv("SCELA_RANK");
  if (strcmp(how, "early") == 0 && given != NULL && strcmp(given, "1") == 0) _exit(3);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* After this no rank is in MPI_Init, where the loss of a peer would make others fail as well. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "segfault") == 0) {
      volatile int* volatile nowhere = NULL;
      *nowhere = 1;
    }
    if (strcmp(how, "leave") == 0) _exit(0);
    if (strcmp(how, "exit") == 0) _exit(3);
    fprintf(stderr, "usage: failing abort|segfault|leave|exit|early\n");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
