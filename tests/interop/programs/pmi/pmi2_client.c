/* A rank that speaks PMI-2 through Slurm's libpmi2; its first argument names the case.
 *
 *   exchange [plain]  put, fence and get among all ranks, twice; a pair that is not there
 *   attributes   attributes of the node: got with and without waiting
 *   job MAPPING  attributes of the job, of which PMI_process_mapping is MAPPING
 *   rest         what no other case calls: the rank in its job, the node's size, numbers of the
 *                universe, jobs to connect with, which the server refuses
 *   mapping MAPPING   PMI_process_mapping only, which every launcher has
 *   names        published by rank 0, looked up by all, unpublished by the last
 *   ring         every rank learns its neighbours' words
 *   refused      a request that the server does not offer or allow is an error, and the
 *                session goes on
 *   abort        rank 1 aborts while the others are in a fence
 *   die          rank 1 is killed while the others are in a fence, which they are told
 *   leave        rank 1 ends without finalize
 *
 * Rank 0 prints "pmi2 WHAT: N ranks ok". A rank that finds something wrong says so and ends with 1.
 */
#include <signal.h>
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static int size;
static char job[64];

#define REQUIRE(claim)                                                    \
  do {                                                                    \
    if (!(claim)) {                                                       \
      printf("rank %d: line %d: not true: %s\n", rank, __LINE__, #claim); \
      fflush(stdout);                                                     \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

static void fence(void) {
  REQUIRE(PMI2_KVS_Fence() == PMI2_SUCCESS);
}

static int get(int source, const char* key, char value[PMI2_MAX_VALLEN + 1]) {
  int length = 0;
  return PMI2_KVS_Get(job, source, key, value, PMI2_MAX_VALLEN + 1, &length);
}

/* plain: values are single words, as Slurm's server does not know that ";" in a value is doubled.
 */
static void exchange(int plain) {
  char key[PMI2_MAX_KEYLEN];
  char value[PMI2_MAX_VALLEN + 1];
  char expected[PMI2_MAX_VALLEN + 1];
  for (int round = 0; round < 2; ++round) {
    snprintf(key, sizeof key, "address-%d-%d", round, rank);
    snprintf(value, sizeof value, plain ? "%d/%d" : "of rank %d; in round %d;", rank, round);
    REQUIRE(PMI2_KVS_Put(key, value) == PMI2_SUCCESS);
    fence();
    for (int other = 0; other < size; ++other) {
      snprintf(key, sizeof key, "address-%d-%d", round, other);
      snprintf(expected, sizeof expected, plain ? "%d/%d" : "of rank %d; in round %d;", other,
               round);
      REQUIRE(get(other % 2 == 0 ? PMI2_ID_NULL : other, key, value) == PMI2_SUCCESS);
      REQUIRE(strcmp(value, expected) == 0);
    }
    REQUIRE(get(PMI2_ID_NULL, "nobody has put this", value) != PMI2_SUCCESS);
  }
  memset(expected, 'v', PMI2_MAX_VALLEN);
  expected[PMI2_MAX_VALLEN] = '\0';
  if (rank == 0) REQUIRE(PMI2_KVS_Put("longest", expected) == PMI2_SUCCESS);
  fence();
  REQUIRE(get(PMI2_ID_NULL, "longest", value) == PMI2_SUCCESS);
  REQUIRE(strcmp(value, expected) == 0);
}

static void attributes(void) {
  char value[PMI2_MAX_ATTRVALUE];
  char expected[64];
  int found = 1;
  const char* local = getenv("MPI_LOCALRANKID");
  REQUIRE(local != NULL);
  const int leader = rank - atoi(local);
  snprintf(expected, sizeof expected, "segment of rank %d", leader);
  REQUIRE(PMI2_Info_GetNodeAttr("nobody has put this", value, sizeof value, &found, 0) ==
          PMI2_SUCCESS);
  REQUIRE(!found);
  if (rank == leader) REQUIRE(PMI2_Info_PutNodeAttr("segment", expected) == PMI2_SUCCESS);
  REQUIRE(PMI2_Info_GetNodeAttr("segment", value, sizeof value, &found, 1) == PMI2_SUCCESS);
  REQUIRE(found && strcmp(value, expected) == 0);
  fence();
  int numbers[3];
  int length = 0;
  if (rank == leader) REQUIRE(PMI2_Info_PutNodeAttr("numbers", "4,5,6") == PMI2_SUCCESS);
  REQUIRE(PMI2_Info_GetNodeAttr("numbers", value, sizeof value, &found, 1) == PMI2_SUCCESS);
  REQUIRE(PMI2_Info_GetNodeAttrIntArray("numbers", numbers, 3, &length, &found) == PMI2_SUCCESS);
  REQUIRE(found && length == 3 && numbers[2] == 6);
}

static void attribute_is(const char* name, const char* expected) {
  char value[PMI2_MAX_ATTRVALUE];
  int found = 0;
  REQUIRE(PMI2_Info_GetJobAttr(name, value, sizeof value, &found) == PMI2_SUCCESS);
  REQUIRE(found && strcmp(value, expected) == 0);
}

static void job_attributes(const char* mapping) {
  char value[PMI2_MAX_ATTRVALUE];
  char number[16];
  int found = 1;
  snprintf(number, sizeof number, "%d", size);
  attribute_is("PMI_process_mapping", mapping);
  attribute_is("universeSize", number);
  attribute_is("hasNameServ", "TRUE");
  attribute_is("PMI_dead_processes", "");
  REQUIRE(PMI2_Info_GetJobAttr("physTopology", value, sizeof value, &found) == PMI2_SUCCESS);
  REQUIRE(!found);
}

static void rest(void) {
  PMI2_Connect_comm_t unused;
  int number = -1;
  int length = 0;
  int found = 0;
  memset(&unused, 0, sizeof unused);
  const char* beside = getenv("MPI_LOCALNRANKS");
  REQUIRE(beside != NULL);
  REQUIRE(PMI2_Initialized() == 1);
  REQUIRE(PMI2_Job_GetRank(&number) == PMI2_SUCCESS && number == rank);
  REQUIRE(PMI2_Info_GetSize(&number) == PMI2_SUCCESS && number == atoi(beside));
  REQUIRE(PMI2_Info_GetJobAttrIntArray("universeSize", &number, 1, &length, &found) ==
          PMI2_SUCCESS);
  REQUIRE(found && length == 1 && number == size);
  REQUIRE(PMI2_Job_Connect("another job", &unused) != PMI2_SUCCESS);
  REQUIRE(PMI2_Job_Disconnect("another job") != PMI2_SUCCESS);
  fence();
}

static void names(void) {
  char port[PMI2_MAX_VALLEN];
  if (rank == 0) {
    REQUIRE(PMI2_Nameserv_publish("service", NULL, "port; of rank 0") == PMI2_SUCCESS);
    REQUIRE(PMI2_Nameserv_publish("service", NULL, "another") != PMI2_SUCCESS);
  }
  fence();
  REQUIRE(PMI2_Nameserv_lookup("service", NULL, port, sizeof port) == PMI2_SUCCESS);
  REQUIRE(strcmp(port, "port; of rank 0") == 0);
  REQUIRE(PMI2_Nameserv_lookup("another service", NULL, port, sizeof port) != PMI2_SUCCESS);
  fence();
  if (rank == size - 1) {
    REQUIRE(PMI2_Nameserv_unpublish("service", NULL) == PMI2_SUCCESS);
    REQUIRE(PMI2_Nameserv_unpublish("service", NULL) != PMI2_SUCCESS);
  }
  fence();
  REQUIRE(PMI2_Nameserv_lookup("service", NULL, port, sizeof port) != PMI2_SUCCESS);
}

static void ring(void) {
  char mine[32];
  char left[32];
  char right[32];
  char expected[32];
  int position = -1;
  int ranks = -1;
  for (int round = 0; round < 2; ++round) {
    snprintf(mine, sizeof mine, "rank %d, round %d", rank, round);
    REQUIRE(PMIX_Ring(mine, &position, &ranks, left, right, sizeof mine) == PMI2_SUCCESS);
    REQUIRE(position == rank && ranks == size);
    snprintf(expected, sizeof expected, "rank %d, round %d", (rank + size - 1) % size, round);
    REQUIRE(strcmp(left, expected) == 0);
    snprintf(expected, sizeof expected, "rank %d, round %d", (rank + 1) % size, round);
    REQUIRE(strcmp(right, expected) == 0);
    fence();
  }
}

static void refused(void) {
  const char* command = "./program";
  char spawned[64];
  int processes = 0;
  int arguments = 0;
  int errors = 0;
  char value[PMI2_MAX_VALLEN + 1];
  REQUIRE(PMI2_Job_Spawn(1, &command, &arguments, NULL, &processes, NULL, NULL, 0, NULL, spawned,
                         sizeof spawned, &errors) != PMI2_SUCCESS);
  REQUIRE(PMI2_KVS_Put("PMI_mine", "value") != PMI2_SUCCESS);
  int length = 0;
  REQUIRE(PMI2_KVS_Get("another job", 0, "key", value, sizeof value, &length) != PMI2_SUCCESS);
  REQUIRE(PMI2_KVS_Get(job, size, "key", value, sizeof value, &length) != PMI2_SUCCESS);
}

static void fence_without_rank_1(void) {
  REQUIRE(rank != 1 && PMI2_KVS_Fence() != PMI2_SUCCESS);
  printf("rank %d: the fence failed\n", rank);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int spawned = 0;
  int appnum = -1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  REQUIRE(PMI2_Init(&spawned, &size, &rank, &appnum) == PMI2_SUCCESS);
  const char* app = getenv("EXPECTED_APPNUM");  // Slurm's is -1
  REQUIRE(!spawned && appnum == (app != NULL ? atoi(app) : 0));
  REQUIRE(PMI2_Job_GetId(job, sizeof job) == PMI2_SUCCESS);
  if (strcmp(what, "exchange") == 0) exchange(argc > 2);
  if (strcmp(what, "attributes") == 0) attributes();
  if (strcmp(what, "job") == 0) job_attributes(argc > 2 ? argv[2] : "");
  if (strcmp(what, "mapping") == 0) attribute_is("PMI_process_mapping", argc > 2 ? argv[2] : "");
  if (strcmp(what, "names") == 0) names();
  if (strcmp(what, "ring") == 0) ring();
  if (strcmp(what, "refused") == 0) refused();
  if (strcmp(what, "rest") == 0) rest();
  if (rank == 1 && strcmp(what, "abort") == 0) PMI2_Abort(1, "no more of this");
  if (rank == 1 && strcmp(what, "die") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(what, "leave") == 0) return 0;
  if (strcmp(what, "die") == 0) {
    fence_without_rank_1();
  } else {
    fence();
  }
  REQUIRE(PMI2_Finalize() == PMI2_SUCCESS);
  if (rank == 0) printf("pmi2 %s: %d ranks ok\n", what, size);
  return 0;
}
