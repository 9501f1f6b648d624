/* An MPI program without a launcher: its library calls mpiexec when it needs one. The program asks
 * for the universe size, which is 5, and publishes a name.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int* universe = NULL;
  int found = 0;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
  MPI_Publish_name("service", MPI_INFO_NULL, "its-port");
  MPI_Lookup_name("service", MPI_INFO_NULL, port);
  if (found && *universe == 5 && strcmp(port, "its-port") == 0) puts("singleton: ok");
  fflush(stdout);
  return MPI_Finalize();
}
