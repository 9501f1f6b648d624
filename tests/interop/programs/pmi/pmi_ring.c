/* Ranks whose requests travel through memory that they share with their agent.
 *
 *   pmi_ring descriptors  rank 0 says "all agents hold the same descriptors" if each holds as many
 *                         that are no pipes, however many ranks it has, or "they differ by N"
 *   pmi_ring no-socket    each rank says "no socket" if it holds none, or "a socket"
 *   pmi_ring long         a request longer than that memory, and many short ones: "long: ok"
 *   pmi_ring nonsense     rank 1 writes random words there; no other rank goes on
 *   pmi_ring again        ends without finalize by becoming a program that begins anew
 *   pmi_ring child        a child of rank 0 goes on in its place: "child: ok"
 *   pmi_ring leave        rank 1 ends well, without finalize, while others wait for it
 *   pmi_ring crash        rank 1 is killed while others wait for it
 *   pmi_ring close        closes what its library has opened, and gets an error: "told"
 *   pmi_ring agent        rank 0 kills its agent while all wait
 */
#include <dirent.h>
#include <pmi.h>
#include <pmi_ext.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static char space[256];

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "pmi_ring: rank %d: line %d: %s\n", rank, __LINE__, #condition); \
      exit(2);                                                                         \
    }                                                                                  \
  } while (0)

/* Counts a process's descriptors of files with names that begin with `prefix`, or do not. */
static int descriptors(const char* process, const char* prefix, int begins) {
  char folder[64];
  snprintf(folder, sizeof folder, "/proc/%s/fd", process);
  int count = 0;
  DIR* const all = opendir(folder);
  CHECK(all != NULL);
  for (const struct dirent* entry; (entry = readdir(all)) != NULL;) {
    char path[400], target[300];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    count += (strncmp(target, prefix, strlen(prefix)) == 0) == begins;
  }
  closedir(all);
  return count;
}

static int descriptor_of(const char* name) {
  char path[64], target[300];
  for (int fd = 0; fd < 1024; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0 && strncmp(target, name, strlen(name)) == 0) return fd;
  }
  return -1;
}

static void compare_agents(void) {
  char agent[32], key[64], value[64];
  CHECK(PMI_Barrier() == PMI_SUCCESS); /* all have what they asked for */
  snprintf(agent, sizeof agent, "%d", (int)getppid());
  snprintf(key, sizeof key, "agent-%d", rank);
  snprintf(value, sizeof value, "%d", descriptors(agent, "pipe:", 0));
  CHECK(PMI_KVS_Put(space, key, value) == PMI_SUCCESS);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  int least = 1 << 30, most = 0;
  for (int other = 0; rank == 0 && other < size; ++other) {
    snprintf(key, sizeof key, "agent-%d", other);
    CHECK(PMI_KVS_Get(space, key, value, sizeof value) == PMI_SUCCESS);
    const int count = atoi(value);
    least = count < least ? count : least;
    most = count > most ? count : most;
  }
  if (rank != 0) return;
  CHECK(least > 0);
  if (least == most) printf("all agents hold the same descriptors\n");
  if (least != most) printf("they differ by %d\n", most - least);
}

static void publish_long_port(void) {
  char port[1024], found[1024], key[64];
  memset(port, 'p', sizeof port - 1);
  port[sizeof port - 1] = '\0';
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  for (int i = 0; i < 60; ++i) {
    snprintf(key, sizeof key, "name-%d-%d", rank, i);
    CHECK(PMI_Publish_name(key, port) == PMI_SUCCESS);
    CHECK(PMI_Lookup_name(key, found) == PMI_SUCCESS && strcmp(found, port) == 0);
    CHECK(PMI_Unpublish_name(key) == PMI_SUCCESS);
  }
  /* Asks for an unknown program with long arguments: one request of 40,000 bytes, which is refused
   or fails. */
  char* const words = malloc(40001);
  CHECK(words != NULL);
  memset(words, 'w', 40000);
  words[40000] = '\0';
  const char* arguments[] = {words, NULL};
  const char* commands[] = {"/nonexistent/program"};
  const char** all[] = {arguments};
  const int processes[] = {1}, infos[] = {0};
  int errors[1] = {0};
  CHECK(PMI_Spawn_multiple(1, commands, all, processes, infos, NULL, 0, NULL, errors) !=
        PMI_SUCCESS);
  free(words);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  if (rank == 0) printf("long: ok\n");
}

static void write_nonsense(void) {
  if (rank == 1) {
    FILE* const maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    char line[512];
    uint64_t* words = NULL;
    while (fgets(line, sizeof line, maps) != NULL) {
      if (strstr(line, "/memfd:scela-rank") != NULL) words = (uint64_t*)strtoull(line, NULL, 16);
    }
    fclose(maps);
    CHECK(words != NULL);
    for (int i = 8; i < 32; ++i)
      words[i] = 0x0123456789abcdefULL * (uint64_t)i;
    const uint64_t one = 1;
    const int doorbell = descriptor_of("anon_inode:[eventfd]");
    CHECK(write(doorbell, &one, sizeof one) == (ssize_t)sizeof one);
    for (;;)
      pause();
  }
  PMI_Barrier();
  printf("goes on\n");
}

static void child_goes_on(void) {
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  if (rank == 0) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      char value[64];
      if (PMI_KVS_Put(space, "by", "child") != PMI_SUCCESS || PMI_Barrier() != PMI_SUCCESS ||
          PMI_KVS_Get(space, "by", value, sizeof value) != PMI_SUCCESS) {
        _exit(1);
      }
      _exit(strcmp(value, "child") == 0 ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  } else {
    CHECK(PMI_Barrier() == PMI_SUCCESS);
  }
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  if (rank == 0) printf("child: ok\n");
}

int main(int argc, char** argv) {
  int spawned = 0;
  CHECK(argc == 2);
  if (PMI_Init(&spawned) != PMI_SUCCESS) {
    fprintf(stderr, "pmi_ring: PMI_Init failed\n");
    return 3;
  }
  CHECK(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  const char* const what = argv[1];
  if (strcmp(what, "descriptors") == 0) compare_agents();
  if (strcmp(what, "no-socket") == 0)
    printf(descriptors("self", "socket:", 1) == 0 ? "no socket\n" : "a socket\n");
  if (strcmp(what, "long") == 0) publish_long_port();
  if (strcmp(what, "nonsense") == 0) write_nonsense();
  if (strcmp(what, "child") == 0) child_goes_on();
  if (strcmp(what, "again") == 0) {
    execl("/proc/self/exe", argv[0], "again", (char*)NULL);
    return 4;
  }
  if (strcmp(what, "close") == 0) {
    for (int fd = 3; fd < 1024; ++fd)
      close(fd);
    /* While the agent is awake it needs no doorbell, and the library no descriptor. */
    while (PMI_Barrier() == PMI_SUCCESS)
      usleep(1000);
    CHECK(PMI_Finalize() != PMI_SUCCESS);
    printf("told\n");
    return 0;
  }
  if (strcmp(what, "leave") == 0) {
    if (rank == 1) return 0;
    PMI_Barrier();
  }
  if (strcmp(what, "crash") == 0) {
    if (rank == 1) raise(SIGKILL);
    PMI_Barrier();
  }
  if (strcmp(what, "agent") == 0) {
    CHECK(PMI_Barrier() == PMI_SUCCESS);
    if (rank == 0) kill(getppid(), SIGKILL);
    for (;;)
      PMI_Barrier();
  }
  CHECK(PMI_Finalize() == PMI_SUCCESS);
  return 0;
}
