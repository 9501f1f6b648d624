/* Tests MPI's name service over PMI: rank 0 publishes a name, all look it up, the last unpublishes
 * it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char kPort[] = "a-port-of-rank-0";
static int rank;

static void require(int claim, const char* what) {
  if (claim) return;
  printf("rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int size = 0;
  char port[MPI_MAX_PORT_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) {
    require(!MPI_Publish_name("service", MPI_INFO_NULL, kPort), "cannot publish");
    require(MPI_Publish_name("service", MPI_INFO_NULL, "another"), "published twice");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  require(!MPI_Lookup_name("service", MPI_INFO_NULL, port), "cannot look up");
  require(strcmp(port, kPort) == 0, "another port");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    require(!MPI_Unpublish_name("service", MPI_INFO_NULL, kPort), "cannot unpublish");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  require(MPI_Lookup_name("service", MPI_INFO_NULL, port), "found after its end");
  if (rank == 0) printf("names: %d ranks ok\n", size);
  MPI_Finalize();
  return 0;
}
