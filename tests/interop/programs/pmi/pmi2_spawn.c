/* Ranks that spawn ranks by pmi2.h, through Slurm's libpmi2 or this project's: rank 0 spawns this
 * program twice over, the new ranks see a pair that was put for them, and a program that does not
 * exist is an error.
 *
 * Prints "parent: N ranks ok" once and "child R of 3, program P" for each of three.
 */
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "pmi2_spawn: line %d: %s\n", __LINE__, #condition); \
      exit(2);                                                            \
    }                                                                     \
  } while (0)

static int rank, size;
static char job[64];

static void exchange(const char* who) {
  char key[64], value[PMI2_MAX_VALLEN + 1], expected[64];
  int length = 0;
  snprintf(key, sizeof key, "key-%d", rank);
  snprintf(value, sizeof value, "%s %d", who, rank);
  CHECK(PMI2_KVS_Put(key, value) == PMI2_SUCCESS && PMI2_KVS_Fence() == PMI2_SUCCESS);
  for (int other = 0; other < size; ++other) {
    snprintf(key, sizeof key, "key-%d", other);
    snprintf(expected, sizeof expected, "%s %d", who, other);
    CHECK(PMI2_KVS_Get(job, other, key, value, sizeof value, &length) == PMI2_SUCCESS);
    CHECK(strcmp(value, expected) == 0);
  }
}

static void child(int program, const char* argument) {
  char value[PMI2_MAX_VALLEN + 1];
  int length = 0;
  CHECK(strcmp(argument, "an argument") == 0 && size == 3);
  CHECK(PMI2_KVS_Get(job, PMI2_ID_NULL, "PARENT_ROOT_PORT_NAME", value, sizeof value, &length) ==
        PMI2_SUCCESS);
  CHECK(strcmp(value, "a port") == 0);
  exchange("child");
  printf("child %d of %d, program %d\n", rank, size, program);
}

static void parent(const char* self) {
  exchange("parent");
  if (rank == 0) {
    const char* commands[] = {self, self};
    const char* words[] = {"an argument"};
    const char** arguments[] = {words, words};
    int counts[] = {1, 1};
    const int processes[] = {2, 1};
    const int hint_counts[] = {0, 0};
    const struct MPID_Info* hints[] = {NULL, NULL};
    struct MPID_Info pair;
    memset(&pair, 0, sizeof pair);
    pair.key = (char*)"PARENT_ROOT_PORT_NAME";
    pair.value = (char*)"a port";
    const struct MPID_Info* pairs[] = {&pair};
    char spawned[64] = "";
    int errors[] = {-1, -1, -1};
    CHECK(PMI2_Job_Spawn(2, commands, counts, arguments, processes, hint_counts, hints, 1, pairs,
                         spawned, sizeof spawned, errors) == PMI2_SUCCESS);
    CHECK(errors[0] == 0 && errors[1] == 0 && errors[2] == 0);
    CHECK(spawned[0] != '\0' && strcmp(spawned, job) != 0);
    commands[0] = "no-such-program";
    counts[0] = 0;
    CHECK(PMI2_Job_Spawn(1, commands, counts, arguments, processes, hint_counts, hints, 0, NULL,
                         spawned, sizeof spawned, errors) != PMI2_SUCCESS);
  }
  exchange("parent");
  if (rank == 0) printf("parent: %d ranks ok\n", size);
}

int main(int argc, char** argv) {
  int spawned = -1, program = -1;
  CHECK(PMI2_Init(&spawned, &size, &rank, &program) == PMI2_SUCCESS);
  CHECK(PMI2_Job_GetId(job, sizeof job) == PMI2_SUCCESS);
  if (spawned) {
    CHECK(argc == 2);
    child(program, argv[1]);
  } else {
    parent(argv[0]);
  }
  CHECK(PMI2_Finalize() == PMI2_SUCCESS);
  return 0;
}
