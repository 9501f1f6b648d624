/* Ranks that spawn ranks by pmi/client/include/pmi.h, as MPI_Comm_spawn_multiple does: rank 0 spawns this program
 * twice over, both find each other by a pair that is put for the new ranks and by a name, and a
 * program that does not exist is an error.
 *
 * Prints "parent: N ranks ok" once and "child R of 3, program P" for each of three.
 */
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "pmi_spawn: line %d: %s\n", __LINE__, #condition); \
      exit(2);                                                           \
    }                                                                    \
  } while (0)

static int rank, size;
static char space[256];

/* All ranks of its world see the values that a rank has put, and no other rank does. */
static void exchange(const char* who) {
  char key[64], value[1024], expected[64];
  snprintf(key, sizeof key, "key-%d", rank);
  snprintf(value, sizeof value, "%s %d", who, rank);
  CHECK(PMI_KVS_Put(space, key, value) == PMI_SUCCESS);
  CHECK(PMI_KVS_Commit(space) == PMI_SUCCESS && PMI_Barrier() == PMI_SUCCESS);
  for (int other = 0; other < size; ++other) {
    snprintf(key, sizeof key, "key-%d", other);
    snprintf(expected, sizeof expected, "%s %d", who, other);
    CHECK(PMI_KVS_Get(space, key, value, sizeof value) == PMI_SUCCESS &&
          strcmp(value, expected) == 0);
  }
  snprintf(key, sizeof key, "key-%d", size);
  CHECK(PMI_KVS_Get(space, key, value, sizeof value) != PMI_SUCCESS);
}

static void child(const char* argument) {
  char value[1024];
  int program = -1;
  CHECK(strcmp(argument, "an argument") == 0);
  CHECK(PMI_Get_appnum(&program) == PMI_SUCCESS && size == 3);
  CHECK(PMI_KVS_Get(space, "PARENT_ROOT_PORT_NAME", value, sizeof value) == PMI_SUCCESS);
  CHECK(strcmp(value, "tag#0$port#7$") == 0);
  exchange("child");
  if (rank == 2) CHECK(PMI_Publish_name("children", "their-port") == PMI_SUCCESS);
  printf("child %d of %d, program %d\n", rank, size, program);
}

static void parent(const char* self) {
  char port[1024];
  exchange("parent");
  if (rank == 0) {
    const char* commands[] = {self, self};
    const char* words[] = {"an argument", NULL};
    const char** arguments[] = {words, words};
    const int processes[] = {2, 1};
    const PMI_keyval_t hint = {"soft", (char*)"1:2"};
    const PMI_keyval_t* hints[] = {&hint, &hint};
    const int hint_counts[] = {1, 0};
    const PMI_keyval_t pair = {"PARENT_ROOT_PORT_NAME", (char*)"tag#0$port#7$"};
    int errors[] = {-1, -1, -1};
    CHECK(PMI_Spawn_multiple(2, commands, arguments, processes, hint_counts, hints, 1, &pair,
                             errors) == PMI_SUCCESS);
    CHECK(errors[0] == 0 && errors[1] == 0 && errors[2] == 0);
    while (PMI_Lookup_name("children", port) != PMI_SUCCESS) {
    }
    CHECK(strcmp(port, "their-port") == 0);
    commands[0] = "no-such-program";
    CHECK(PMI_Spawn_multiple(1, commands, NULL, processes, NULL, NULL, 0, NULL, errors) ==
          PMI_FAIL);
    CHECK(errors[0] == 1 && errors[1] == 1);
    words[0] = "two\nlines";
    CHECK(PMI_Spawn_multiple(1, commands, arguments, processes, NULL, NULL, 0, NULL, errors) ==
          PMI_ERR_INVALID_ARG);
  }
  exchange("parent");
  if (rank == 0) printf("parent: %d ranks ok\n", size);
}

int main(int argc, char** argv) {
  int spawned = -1;
  CHECK(PMI_Init(&spawned) == PMI_SUCCESS);
  CHECK(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  if (spawned == PMI_TRUE) {
    CHECK(argc == 2);
    child(argv[1]);
  } else {
    parent(argv[0]);
  }
  CHECK(PMI_Finalize() == PMI_SUCCESS);
  return 0;
}
