/* Every rank prints its number and its node, then all ranks meet once.
 *
 *   mpicc.mpich -o hello examples/hello_mpi.c
 *   scela-run --sim-nodes 4 --ppn 4 -l ./hello
 *
 * On simulated nodes all ranks share one machine, so MPI knows one name for all of them. The
 * launcher scela-run gives each rank the name of its node in SCELA_NODE.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  const char* node = getenv("SCELA_NODE");
  printf("hello from rank %d of %d on %s\n", rank, size, node != NULL ? node : name);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
