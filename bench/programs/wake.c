/* What it costs to wake processes through socket pairs, once each: the floor of a barrier's
 * release.
 *
 *   wake [--processes N] [--rounds N]
 *
 * N processes each wait in a read from a socket of their own. In every round one byte is written to
 * each; the round ends when all have run, of which the last one tells. Prints the median time of a
 * round, the first quartile and the least, in microseconds. Exit status 0, or 2 with one line on
 * standard error.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char* what) {
  perror(what);
  exit(2);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The last one of a round writes to `tell`. Ends when its socket does. */
static void sleeper(int fd, int tell, atomic_int* awake, int of) {
  char byte;
  while (read(fd, &byte, 1) == 1) {
    if (atomic_fetch_add(awake, 1) + 1 == of && write(tell, &byte, 1) != 1) _exit(2);
  }
  _exit(0);
}

int main(int argc, char** argv) {
  int processes = 512, rounds = 100;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--processes") == 0) processes = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[i + 1]);
  }
  if (processes < 1 || processes > 4096 || rounds < 1) {
    fputs("usage: wake [--processes N] [--rounds N]\n", stderr);
    return 2;
  }
  atomic_int* const awake =
      mmap(NULL, sizeof *awake, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int* const sockets = calloc((size_t)processes, sizeof *sockets);
  double* const times = calloc((size_t)rounds, sizeof *times);
  int done[2];
  if (awake == MAP_FAILED || sockets == NULL || times == NULL) die("memory");
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, done) != 0) die("socketpair");
  for (int i = 0; i < processes; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
      for (int j = 0; j < i; ++j)
        close(sockets[j]);
      close(pair[0]);
      close(done[0]);
      sleeper(pair[1], done[1], awake, processes);
    }
    close(pair[1]);
    sockets[i] = pair[0];
  }
  /* The first rounds find processes that have not come to their read yet. */
  for (int round = -3; round < rounds; ++round) {
    char byte = 'w';
    atomic_store(awake, 0);
    const double before = now_us();
    for (int i = 0; i < processes; ++i)
      if (write(sockets[i], &byte, 1) != 1) die("write");
    if (read(done[0], &byte, 1) != 1) die("read");
    if (round >= 0) times[round] = now_us() - before;
  }
  for (int i = 0; i < processes; ++i)
    close(sockets[i]);
  while (wait(NULL) > 0) {
  }
  qsort(times, (size_t)rounds, sizeof *times, by_value);
  printf("wake us: median %.1f quartile %.1f least %.1f of %d\n", times[rounds / 2],
         times[rounds / 4], times[0], rounds);
  return 0;
}
