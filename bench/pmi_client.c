/* A bare PMI-1 client: what MPI_Init and MPI_Finalize ask of a launcher, without MPI.
 *
 *   pmi_client [--exchange] [--hold MS] [--barriers N] [--noop]
 *
 * init, one barrier, finalize. --exchange: each rank puts a value, and after the barrier gets its
 * right neighbour's and checks it. --hold: rank 0 says "holding" and enters one more barrier MS
 * milliseconds late, so that all others sleep in it. --barriers: N timed barriers; rank 0 prints
 * the median time of one, the first quartile and the least, in microseconds. --noop: ends at once,
 * whoever started it.
 *
 * Small and static: no stdio, no allocation. Exit status 0, or 2 with one line on standard error
 * for no launcher, a wrong answer or a wrong value.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048
#define VALUE_BYTES 488 /* as MPICH over UCX puts per rank */
#define BARRIERS_MAX 10000

static int pmi_fd, rank, size;
static char kvsname[257];
static char line[LINE_MAX_BYTES];

static void die(const char* what, const char* detail) {
  char text[LINE_MAX_BYTES];
  const int n = snprintf(text, sizeof text, "pmi_client: rank %d: %s: %s\n", rank, what, detail);
  if (write(2, text, (size_t)(n < (int)sizeof text ? n : (int)sizeof text - 1)) < 0) _exit(3);
  _exit(2);
}

static int environment_number(const char* name) {
  const char* value = getenv(name);
  if (value == NULL) die(name, "not set; start this program with a launcher that speaks PMI-1");
  return atoi(value);
}

/* Sends one request and reads its answer into `line`, without the newline. */
static void ask(const char* answer, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (int sent = 0; sent < length;) {
    const ssize_t n = write(pmi_fd, line + sent, (size_t)(length - sent));
    if (n < 0 && errno != EINTR) die("write to the launcher", strerror(errno));
    if (n > 0) sent += (int)n;
  }
  size_t have = 0;
  while (have == 0 || line[have - 1] != '\n') { /* lock-step: nothing follows the newline */
    if (have == sizeof line - 1) die("answer too long", answer);
    const ssize_t n = read(pmi_fd, line + have, sizeof line - 1 - have);
    if (n == 0) die("the launcher closed the connection instead of answering", answer);
    if (n < 0 && errno != EINTR) die("read from the launcher", strerror(errno));
    if (n > 0) have += (size_t)n;
  }
  line[have - 1] = '\0';
  const size_t name = strlen(answer);
  if (strncmp(line, "cmd=", 4) != 0 || strncmp(line + 4, answer, name) != 0) die(answer, line);
  const char* rc = strstr(line, "rc=");
  if (rc != NULL && rc[3] != '0') die(answer, line);
}

static void barrier(void) {
  ask("barrier_out", "cmd=barrier_in\n");
}

static void fill(char* value, int of) {
  for (int i = 0; i < VALUE_BYTES; ++i)
    value[i] = (char)('a' + (of + i) % 26);
  value[VALUE_BYTES] = '\0';
}

static void exchange(void) {
  char value[VALUE_BYTES + 1];
  fill(value, rank);
  ask("put_result", "cmd=put kvsname=%s key=card-%d value=%s\n", kvsname, rank, value);
  barrier();
  const int neighbour = (rank + 1) % size;
  ask("get_result", "cmd=get kvsname=%s key=card-%d\n", kvsname, neighbour);
  const char* got = strstr(line, "value=");
  fill(value, neighbour);
  if (got == NULL || strncmp(got + 6, value, VALUE_BYTES) != 0) die("wrong value", line);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void time_barriers(int count) {
  static double times[BARRIERS_MAX];
  double before = now_us();
  for (int i = 0; i < count; ++i) {
    barrier();
    const double after = now_us();
    times[i] = after - before;
    before = after;
  }
  if (rank != 0) return;
  qsort(times, (size_t)count, sizeof times[0], ascending);
  char text[200];
  const int n =
      snprintf(text, sizeof text, "barrier us: median %.1f quartile %.1f least %.1f of %d\n",
               times[count / 2], times[count / 4], times[0], count);
  if (write(1, text, (size_t)n) != n) die("write", "standard output");
}

static void hold(int milliseconds) {
  if (rank == 0) {
    if (write(1, "holding\n", 8) != 8) die("write", "standard output");
    const struct timespec t = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&t, NULL);
  }
  barrier();
}

int main(int argc, char** argv) {
  int do_exchange = 0, barriers = 0, hold_ms = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--noop") == 0) _exit(0);
    if (strcmp(argv[i], "--exchange") == 0) {
      do_exchange = 1;
    } else if (strcmp(argv[i], "--barriers") == 0 && i + 1 < argc) {
      barriers = atoi(argv[++i]);
      if (barriers < 1 || barriers > BARRIERS_MAX) die("--barriers", "not within 1 to 10000");
    } else if (strcmp(argv[i], "--hold") == 0 && i + 1 < argc) {
      hold_ms = atoi(argv[++i]);
    } else {
      die("unknown option", argv[i]);
    }
  }
  rank = environment_number("PMI_RANK");
  size = environment_number("PMI_SIZE");
  pmi_fd = environment_number("PMI_FD");

  ask("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
  ask("my_kvsname", "cmd=get_my_kvsname\n");
  const char* name = strstr(line, "kvsname=");
  if (name == NULL || sscanf(name, "kvsname=%256s", kvsname) != 1) die("my_kvsname", line);
  if (do_exchange) {
    exchange();
  } else {
    barrier();
  }
  if (barriers > 0) time_barriers(barriers);
  if (hold_ms > 0) hold(hold_ms);
  ask("finalize_ack", "cmd=finalize\n");
  _exit(0);
}
