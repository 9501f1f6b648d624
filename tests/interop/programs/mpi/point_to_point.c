/* Every rank exchanges messages of growing size with both neighbours and checks every byte.
 * Prints "point to point: N ranks ok" on rank 0; a wrong byte ends the job with code 5. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1 << 20) /* beyond every eager limit */

static unsigned char pattern(int rank, int size) {
  return (unsigned char)(rank * 31 + size % 251);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  unsigned char* out = malloc(LARGEST);
  unsigned char* in = malloc(LARGEST);
  for (int size = 0; size <= LARGEST; size = size == 0 ? 1 : size * 32) {
    memset(out, pattern(rank, size), (size_t)size);
    memset(in, 0, (size_t)size);
    MPI_Sendrecv(out, size, MPI_BYTE, next, size, in, size, MPI_BYTE, previous, size,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; ++i) {
      if (in[i] != pattern(previous, size)) {
        fprintf(stderr, "rank %d: byte %d of %d from rank %d is wrong\n", rank, i, size, previous);
        MPI_Abort(MPI_COMM_WORLD, 5);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("point to point: %d ranks ok\n", ranks);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
