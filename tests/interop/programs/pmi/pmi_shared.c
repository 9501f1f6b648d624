/* The memory that an agent shares with its ranks, as a rank sees it.
 *
 *   pmi_shared sealed    the segment cannot be written: says "sealed" once a node
 *   pmi_shared failures  rank 1 kills itself; all others wait until they are told: "told of 1"
 *   pmi_shared used      gets again and again the first values, while stages come that push out the
 *                        least used ones. The number of messages of the job tells how many keys
 *                        it gets at last
 *   pmi_shared unused    as used, without the gets meanwhile
 */
#include <dirent.h>
#include <fcntl.h>
#include <pmi.h>
#include <pmi_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank;

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "pmi_shared: rank %d: line %d: %s\n", rank, __LINE__, #condition); \
      exit(2);                                                                           \
    }                                                                                    \
  } while (0)

/* Returns the descriptor of the mapped segment, which the library keeps. */
static int segment_descriptor(void) {
  int found = -1;
  DIR* const all = opendir("/proc/self/fd");
  CHECK(all != NULL);
  for (const struct dirent* entry; (entry = readdir(all)) != NULL;) {
    char path[300], target[300];
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (strncmp(target, "/memfd:scela-node", 17) == 0) found = atoi(entry->d_name);
  }
  closedir(all);
  return found;
}

static void check_descriptor(int fd) {
  const size_t page = 4096;
  CHECK(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
  CHECK(write(fd, "x", 1) == -1);
  CHECK(pwrite(fd, "x", 1, 0) == -1);
  CHECK(ftruncate(fd, 0) == -1);
  CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)page) == -1);
  CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
  void* const reading = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
  CHECK(reading != MAP_FAILED);
  CHECK(mprotect(reading, page, PROT_READ | PROT_WRITE) == -1);
  munmap(reading, page);
}

static void sealed(void) {
  const int fd = segment_descriptor();
  CHECK(fd >= 0);
  check_descriptor(fd);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int again = open(path, O_RDWR); /* a descriptor for reading only can be opened anew */
  CHECK(again >= 0);
  check_descriptor(again);
  close(again);
  char space[256], key[64], value[64];
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  snprintf(key, sizeof key, "after-%d", rank); /* and the library still works */
  CHECK(PMI_KVS_Put(space, key, "value") == PMI_SUCCESS);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  CHECK(PMI_KVS_Get(space, "after-0", value, sizeof value) == PMI_SUCCESS);
  CHECK(strcmp(value, "value") == 0);
  printf("sealed\n");
}

static void failures(void) {
  CHECK(SCELA_PMI_Failures() == 0);
  CHECK(SCELA_PMI_Rank_failed(1) == 0);
  CHECK(SCELA_PMI_Wait_failure(0, 0) == 0);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  if (rank == 1) raise(SIGKILL);
  CHECK(SCELA_PMI_Wait_failure(0, -1) == 1);
  CHECK(SCELA_PMI_Rank_failed(1) == 1);
  CHECK(SCELA_PMI_Rank_failed(0) == 0);
  CHECK(SCELA_PMI_Failures() == 1);
  printf("told of 1\n");
}

enum { kKept = 20, kStages = 40 };

static void put(const char* space, const char* name, int number) {
  char key[64], value[201];
  snprintf(key, sizeof key, "%s-%d-%d", name, number, rank);
  memset(value, 'v', sizeof value - 1);
  value[sizeof value - 1] = '\0';
  CHECK(PMI_KVS_Put(space, key, value) == PMI_SUCCESS);
}

static void get_kept(const char* space) {
  for (int i = 0; i < kKept; ++i) {
    char key[64], value[256];
    snprintf(key, sizeof key, "kept-%d-0", i);
    CHECK(PMI_KVS_Get(space, key, value, sizeof value) == PMI_SUCCESS);
  }
}

static void use(int meanwhile) {
  char space[256];
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  for (int i = 0; i < kKept; ++i)
    put(space, "kept", i);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  for (int stage = 0; stage < kStages; ++stage) {
    if (meanwhile) get_kept(space);
    put(space, "other", stage);
    CHECK(PMI_Barrier() == PMI_SUCCESS);
  }
  get_kept(space);
}

int main(int argc, char** argv) {
  int spawned = 0;
  CHECK(argc == 2);
  CHECK(SCELA_PMI_Has_segment() == 0 && SCELA_PMI_Wait_failure(0, 0) == -1);
  CHECK(PMI_Init(&spawned) == PMI_SUCCESS);
  CHECK(PMI_Get_rank(&rank) == PMI_SUCCESS);
  CHECK(SCELA_PMI_Has_segment() == 1);
  if (strcmp(argv[1], "sealed") == 0) sealed();
  if (strcmp(argv[1], "failures") == 0) failures();
  if (strcmp(argv[1], "used") == 0) use(1);
  if (strcmp(argv[1], "unused") == 0) use(0);
  CHECK(PMI_Finalize() == PMI_SUCCESS);
  return 0;
}
