/* Runs each common collective once and checks its result on every rank.
 * Prints "collectives: N ranks ok" on rank 0; a wrong result ends the job with code 5. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void check(const char* name, int index, long got, long expected) {
  if (got == expected) return;
  fprintf(stderr, "rank %d: %s[%d] is %ld, expected %ld\n", rank, name, index, got, expected);
  MPI_Abort(MPI_COMM_WORLD, 5);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int last = size - 1;
  const long sum = (long)size * last / 2;
  long* many = malloc((size_t)size * sizeof *many);
  long* other = malloc((size_t)size * sizeof *other);

  MPI_Barrier(MPI_COMM_WORLD);

  long one = rank == last ? 42 : 0;
  MPI_Bcast(&one, 1, MPI_LONG, last, MPI_COMM_WORLD);
  check("bcast", 0, one, 42);

  long mine = rank, result = -1;
  MPI_Reduce(&mine, &result, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) check("reduce", 0, result, sum);
  MPI_Allreduce(&mine, &result, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  check("allreduce", 0, result, last);
  MPI_Scan(&mine, &result, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check("scan", 0, result, (long)rank * (rank + 1) / 2);

  MPI_Gather(&mine, 1, MPI_LONG, many, 1, MPI_LONG, last, MPI_COMM_WORLD);
  for (int i = 0; rank == last && i < size; ++i)
    check("gather", i, many[i], i);
  MPI_Allgather(&mine, 1, MPI_LONG, many, 1, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i)
    check("allgather", i, many[i], i);
  MPI_Scatter(many, 1, MPI_LONG, &result, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  check("scatter", 0, result, rank);

  for (int i = 0; i < size; ++i)
    many[i] = (long)rank * size + i;
  MPI_Alltoall(many, 1, MPI_LONG, other, 1, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i)
    check("alltoall", i, other[i], (long)i * size + rank);

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("collectives: %d ranks ok\n", size);
  free(many);
  free(other);
  MPI_Finalize();
  return 0;
}
