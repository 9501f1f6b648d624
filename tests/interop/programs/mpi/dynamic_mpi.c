/* Ranks that spawn ranks, and groups of ranks that meet: dynamic_mpi WHAT [COUNT [HINT VALUE]...]
   spawn     all ranks together spawn COUNT ranks; self: each rank does so by itself
   where     as spawn; they say where they run, with the hints
   nested    as spawn; each of them spawns one more
   multiple  all ranks together spawn COUNT ranks of one program and one of another
   connect   the first half of the ranks accepts the second, by a published name
   missing   a program that is not there: an error, and the ranks go on
   abort, leave, fault   the last spawned rank does that, and the others wait for it */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char* program;

static void require(int claim, const char* what) {
  if (claim) return;
  printf("%s\n", what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Sends each rank's number to all ranks of the other side, then around both sides as one. */
static void meet(MPI_Comm other, int count, int high) {
  int rank = 0;
  int others = 0;
  int sum = 0;
  MPI_Comm_rank(other, &rank);
  MPI_Comm_remote_size(other, &others);
  require(count == 0 || others == count, "the other side has another size");
  const int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, other);
  require(sum == others * (others + 1) / 2, "the sum over the other side is wrong");

  MPI_Comm all;
  int all_rank = 0;
  int all_size = 0;
  MPI_Intercomm_merge(other, high, &all);
  MPI_Comm_rank(all, &all_rank);
  MPI_Comm_size(all, &all_size);
  require(all_rank == (high ? others : 0) + rank, "the rank in both sides is wrong");
  MPI_Allreduce(&all_rank, &sum, 1, MPI_INT, MPI_SUM, all);
  require(sum == all_size * (all_size - 1) / 2, "the sum over both sides is wrong");
  MPI_Comm_free(&all);
}

static void spawn(const char* what, int count, MPI_Comm from, MPI_Info hints) {
  MPI_Comm children;
  char* words[] = {strdup(what), NULL};
  int* codes = calloc((size_t)count, sizeof *codes);
  require(!MPI_Comm_spawn(program, words, count, hints, 0, from, &children, codes), "cannot spawn");
  for (int i = 0; i < count; ++i)
    require(codes[i] == MPI_SUCCESS, "one was not spawned");
  meet(children, count, 0);
  MPI_Comm_disconnect(&children);
  free(words[0]);
  free(codes);
}

static void spawn_multiple(int count) {
  MPI_Comm children;
  char first[] = "multiple";
  char second[] = "multiple";
  char* first_words[] = {first, NULL};
  char* second_words[] = {second, NULL};
  char* programs[] = {program, program};
  char** words[] = {first_words, second_words};
  const int counts[] = {count, 1};
  const MPI_Info hints[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  require(!MPI_Comm_spawn_multiple(2, programs, words, counts, hints, 0, MPI_COMM_WORLD, &children,
                                   MPI_ERRCODES_IGNORE),
          "cannot spawn two programs");
  meet(children, count + 1, 0);
  MPI_Comm_disconnect(&children);
}

static void connect_halves(int rank, int size) {
  char port[MPI_MAX_PORT_NAME] = "";
  const int accepts = rank < size / 2;
  MPI_Comm half;
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, accepts, rank, &half);
  if (rank == 0) {
    require(!MPI_Open_port(MPI_INFO_NULL, port), "cannot open a port");
    require(!MPI_Publish_name("halves", MPI_INFO_NULL, port), "cannot publish");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (accepts) {
    require(!MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other), "cannot accept");
  } else {
    require(!MPI_Lookup_name("halves", MPI_INFO_NULL, port), "cannot look up");
    require(!MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other), "cannot connect");
  }
  meet(other, accepts ? size - size / 2 : size / 2, !accepts);
  MPI_Comm_disconnect(&other);
  MPI_Comm_free(&half);
  if (rank == 0) {
    MPI_Unpublish_name("halves", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
}

static void spawn_missing(int rank) {
  MPI_Comm children;
  char name[] = "no-such-program";
  if (rank != 0) return;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  require(MPI_Comm_spawn(name, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                         MPI_ERRCODES_IGNORE) != MPI_SUCCESS,
          "spawned what is not there");
}

static int is(const char* what, const char* one) {
  return strcmp(what, one) == 0;
}

/* The part of a spawned rank. */
static void child(const char* what, MPI_Comm parents, int rank, int size) {
  if (rank == size - 1 && is(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
  if (rank == size - 1 && is(what, "leave")) _exit(0);
  if (rank == size - 1 && is(what, "fault")) raise(SIGSEGV);
  if (is(what, "where")) {
    char directory[256] = "";
    const char* node = getenv("SCELA_NODE");
    printf("rank %d of %d on %s in %s\n", rank, size, node ? node : "no node",
           getcwd(directory, sizeof directory));
    fflush(stdout);
  }
  if (is(what, "multiple")) {
    int* number = NULL;
    int there = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, (void*)&number, &there);
    require(there && *number == (rank == size - 1), "the number of the program is wrong");
  }
  if (is(what, "nested")) spawn("leaf", 1, MPI_COMM_SELF, MPI_INFO_NULL);
  meet(parents, 0, 1);
  MPI_Comm_disconnect(&parents);
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_Comm parents;
  program = argv[0];
  const char* what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) {
    child(what, parents, rank, size);
    MPI_Finalize();
    return 0;
  }
  MPI_Info hints;
  MPI_Info_create(&hints);
  for (int i = 3; i + 1 < argc; i += 2)
    MPI_Info_set(hints, argv[i], argv[i + 1]);
  if (is(what, "self")) {
    spawn(what, count, MPI_COMM_SELF, hints);
  } else if (is(what, "multiple")) {
    spawn_multiple(count);
  } else if (is(what, "connect")) {
    connect_halves(rank, size);
  } else if (is(what, "missing")) {
    spawn_missing(rank);
  } else {
    spawn(what, count, MPI_COMM_WORLD, hints);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("dynamic %s: %d ranks ok\n", what, size);
  MPI_Info_free(&hints);
  MPI_Finalize();
  return 0;
}
